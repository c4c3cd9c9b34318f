// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// ownPrefix is that of every label and annotation of Styrmin.
const ownPrefix = "styrmin.io/"

// syncTimeout is how long a readiness check waits for caches that are not synced.
const syncTimeout = time.Second

// cacheReadTimeout bounds a read from a cache, which waits until the cache has the
// kind at all. It leaves a reconcile the time to write down why it cannot go on.
const cacheReadTimeout = 10 * time.Second

// promptReader reads from a cache that may not have synced, as one of a kind that
// may not be listed never does: it does not wait for as long as the reconcile may
// take.
type promptReader struct{ cache client.Reader }

// Get is client.Reader's.
func (r promptReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	ctx, cancel := context.WithTimeout(ctx, cacheReadTimeout)
	defer cancel()
	return explained(r.cache.Get(ctx, key, obj, opts...))
}

// List is client.Reader's.
func (r promptReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	ctx, cancel := context.WithTimeout(ctx, cacheReadTimeout)
	defer cancel()
	return explained(r.cache.List(ctx, list, opts...))
}

// explained says what a cache's timeout means.
func explained(err error) error {
	if apierrors.IsTimeout(err) {
		return fmt.Errorf("the API server has not let all objects of the kind be listed yet, the operator's log says why: %w", err)
	}
	return err
}

// CacheByObject returns how the manager's cache is to hold the kinds that the
// operator watches, besides pods and StyrminDeployments: the fields that it
// reads and no others.
func CacheByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}:  {Transform: leanWorkload},
		&appsv1.StatefulSet{}: {Transform: leanWorkload},
		&appsv1.DaemonSet{}:   {Transform: leanWorkload},
	}
}

// newMadeCache returns a cache of what the operator made, by its label, and adds
// it to the manager. It is one of its own because the manager's has to know its
// selectors before it starts, when Flux and Traefik may not be there yet (O9).
func newMadeCache(mgr ctrl.Manager) (cache.Cache, error) {
	exists, err := labels.NewRequirement(styrminv1.LabelDeploymentID, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting what the operator made: %w", err)
	}
	made, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultLabelSelector: labels.NewSelector().Add(*exists),
		DefaultTransform:     cache.TransformStripManagedFields(),
		ByObject:             map[client.Object]cache.ByObject{&corev1.Secret{}: {Transform: leanMetadata}},
	})
	if err != nil {
		return nil, fmt.Errorf("making the cache of what the operator made: %w", err)
	}
	if err := mgr.Add(runnableCache{made}); err != nil {
		return nil, fmt.Errorf("adding the cache of what the operator made: %w", err)
	}
	return made, nil
}

// runnableCache lets the manager start a cache with its own, before anything
// that reads it.
type runnableCache struct{ cache.Cache }

// GetCache is how the manager recognises a cache.
func (c runnableCache) GetCache() cache.Cache { return c.Cache }

// leanMetadata keeps of an object's metadata what the operator looks at.
func leanMetadata(in any) (any, error) {
	obj, ok := in.(client.Object)
	if !ok {
		return in, nil
	}
	obj.SetManagedFields(nil)
	obj.SetOwnerReferences(nil)
	obj.SetAnnotations(ours(obj.GetAnnotations()))
	obj.SetLabels(ours(obj.GetLabels()))
	return obj, nil
}

// leanWorkload keeps of a workload what kstatus and the readiness rules read.
func leanWorkload(in any) (any, error) {
	var template *corev1.PodTemplateSpec
	switch w := in.(type) {
	case *appsv1.Deployment:
		template = &w.Spec.Template
	case *appsv1.StatefulSet:
		template, w.Spec.VolumeClaimTemplates = &w.Spec.Template, nil
	case *appsv1.DaemonSet:
		template = &w.Spec.Template
	default:
		return in, nil
	}
	*template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}}
	return leanMetadata(in)
}

// syncedChecker is a readiness check that fails while a cache lacks objects of a
// kind: without a permission the operator would sit still and look well (H02).
func syncedChecker(caches ...cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), syncTimeout)
		defer cancel()
		for _, c := range caches {
			if !c.WaitForCacheSync(ctx) {
				return errors.New("the caches have not synced; the log names the kind and why")
			}
		}
		return nil
	}
}

// ours returns the labels or annotations that are Styrmin's.
func ours(m map[string]string) map[string]string {
	var out map[string]string
	for k, v := range m {
		if strings.HasPrefix(k, ownPrefix) {
			out = with(out, k, v)
		}
	}
	return out
}
