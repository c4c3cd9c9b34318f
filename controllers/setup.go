// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers is the operator: it rolls out what StyrminDeployments
// declare, and tells in their status what it found out, truthfully enough for
// people and the server to act on.
//
// A rollout is a list of phases over one scope, a file each: prerequisites.go,
// helmrelease.go, services.go, readiness.go; deletion.go takes it all back.
// What a phase finds out is decided by pure functions over what was read, and
// status.go makes the one status of it. The rules O1 to O10 that comments and
// tests name are those of the design.
package controllers

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// controllerName is the controller's name in logs and metrics.
const controllerName = "styrmindeployment"

// AddToScheme adds every type that the operator reads or writes.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, styrminv1.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// SetupWithManager adds the operator to a manager. The manager's scheme must
// have what AddToScheme adds, and its cache should be made with CacheByObject;
// pods come from that cache too.
func SetupWithManager(mgr ctrl.Manager, opts Options) error {
	opts = opts.withDefaults()
	made, err := newMadeCache(mgr)
	if err != nil {
		return err
	}
	if err := addIndexes(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &reconciler{
		client:   mgr.GetClient(),
		cached:   mgr.GetCache(),
		made:     made,
		live:     mgr.GetAPIReader(),
		scheme:   mgr.GetScheme(),
		recorder: mgr.GetEventRecorder(styrminv1.FieldOwner),
		opts:     opts,
		optional: &optionalAPIs{
			mapper: mgr.GetRESTMapper(), scheme: mgr.GetScheme(), cache: made,
			watched: map[schema.GroupVersionKind]bool{},
		},
	}
	r.optional.watcher, err = r.build(mgr, made)
	if err != nil {
		return fmt.Errorf("building the operator's controller: %w", err)
	}
	if err := mgr.AddReadyzCheck("served-schema", servedSchemaChecker(mgr.GetAPIReader())); err != nil {
		return fmt.Errorf("adding the check of the served schema: %w", err)
	}
	return nil
}

// build makes the controller with all watches that every cluster has.
func (r *reconciler) build(mgr ctrl.Manager, made cache.Cache) (controller.Controller, error) {
	spec := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, ownStatusLost()))
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&styrminv1.StyrminDeployment{}, spec).
		WithOptions(controller.Options{MaxConcurrentReconciles: r.opts.Concurrency})
	inTarget := r.inTargetNamespace()
	for _, obj := range []client.Object{&corev1.Pod{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}} {
		b = b.Watches(obj, inTarget)
	}
	b = b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.secretRequests))
	for _, obj := range []client.Object{&corev1.Namespace{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}} {
		b = b.WatchesRawSource(source.Kind(made, obj, handler.EnqueueRequestsFromMapFunc(ownerRequests)))
	}
	return b.Build(r)
}

// CacheByObject returns how the manager's cache is to hold the kinds that the
// operator watches, besides pods and StyrminDeployments: the fields that it
// reads and no others.
func CacheByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}:  {Transform: leanWorkload},
		&appsv1.StatefulSet{}: {Transform: leanWorkload},
		&appsv1.DaemonSet{}:   {Transform: leanWorkload},
		&corev1.Secret{}:      {Transform: leanMetadata},
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
