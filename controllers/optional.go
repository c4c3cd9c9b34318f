// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// fluxKinds are Flux's kinds that every deployment needs.
var fluxKinds = map[string]schema.GroupVersionKind{
	sourcev1.HelmRepositoryKind: sourcev1.GroupVersion.WithKind(sourcev1.HelmRepositoryKind),
	helmv2.HelmReleaseKind:      helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind),
}

// optionalAPIs are the kinds that a cluster may lack. Each is watched from the
// first time that a deployment needs it and the cluster serves it (O9).
type optionalAPIs struct {
	mapper apimeta.RESTMapper
	scheme *runtime.Scheme
	cache  cache.Cache
	// watcher is the running controller, and handler what it does with events.
	watcher controller.Controller
	handler handler.EventHandler

	clock   clock.PassiveClock
	recheck time.Duration

	mu      sync.Mutex
	watched map[schema.GroupVersionKind]bool
	// missed is when the cluster was last found not to serve a kind.
	missed map[schema.GroupVersionKind]time.Time
}

// require returns a missingAPIError where the cluster does not serve a kind,
// and sees to it that the kind is watched where it does. product is what
// brings the kind. A missing kind is asked for again after half of recheck, since
// asking reads the cluster's list of APIs anew; what was once served is remembered.
func (o *optionalAPIs) require(kind schema.GroupVersionKind, product string) error {
	watched, missed := o.known(kind)
	if watched {
		return nil
	}
	if missed {
		return &missingAPIError{kind: kind, product: product}
	}
	_, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if apimeta.IsNoMatchError(err) {
		o.miss(kind)
		return &missingAPIError{kind: kind, product: product}
	}
	if err != nil {
		return fmt.Errorf("looking for the API of %s: %w", kind, err)
	}
	return o.watch(kind)
}

// watchServed sees to it that every optional kind which is served is watched, so
// that a deletion learns at once of what is gone.
func (o *optionalAPIs) watchServed() error {
	kinds := slices.Collect(maps.Values(fluxKinds))
	for _, version := range traefikGroups {
		kinds = append(kinds, version.WithKind(ingressRouteKind), version.WithKind(middlewareKind))
	}
	for _, kind := range kinds {
		var missing *missingAPIError
		if err := o.require(kind, ""); err != nil && !errors.As(err, &missing) {
			return err
		}
	}
	return nil
}

// known tells what was found of a kind before: it is watched, or was missed just
// now.
func (o *optionalAPIs) known(kind schema.GroupVersionKind) (watched, missed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.missed[kind]
	return o.watched[kind], ok && o.clock.Since(at) < o.recheck/2
}

func (o *optionalAPIs) miss(kind schema.GroupVersionKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.missed[kind] = o.clock.Now()
}

func (o *optionalAPIs) watch(kind schema.GroupVersionKind) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched[kind] {
		return nil
	}
	obj, err := o.object(kind)
	if err != nil {
		return err
	}
	if err := o.watcher.Watch(source.Kind(o.cache, obj, o.handler)); err != nil {
		return fmt.Errorf("watching %s: %w", kind, err)
	}
	o.watched[kind] = true
	return nil
}

// hasSynced tells whether the cache has all objects of a kind, without waiting.
func (o *optionalAPIs) hasSynced(ctx context.Context, kind schema.GroupVersionKind) bool {
	obj, err := o.object(kind)
	if err != nil {
		return false
	}
	informer, err := o.cache.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	return err == nil && informer.HasSynced()
}

// object returns an object of a kind, typed where its Go type is known.
func (o *optionalAPIs) object(kind schema.GroupVersionKind) (client.Object, error) {
	if !o.scheme.Recognizes(kind) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	obj, err := o.scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", kind.Kind, err)
	}
	typed, ok := obj.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", obj)
	}
	return typed, nil
}
