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
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// firstRetry is the pause after the first error in a row.
const firstRetry = 5 * time.Millisecond

// controllerName is the controller's name in logs and metrics.
const controllerName = "styrmindeployment"

// reconcileTimeout bounds one reconcile: a webhook that hangs, say, must not hold
// a worker for ever.
const reconcileTimeout = time.Minute

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
func SetupWithManager(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	opts = opts.withDefaults()
	made, err := newMadeCache(mgr)
	if err != nil {
		return err
	}
	if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r := &reconciler{
		client:   mgr.GetClient(),
		cached:   mgr.GetCache(),
		made:     promptReader{made},
		live:     mgr.GetAPIReader(),
		scheme:   mgr.GetScheme(),
		recorder: mgr.GetEventRecorder(styrminv1.FieldOwner),
		opts:     opts,
		review: &startReview{
			client: mgr.GetClient(), live: mgr.GetAPIReader(), cache: mgr.GetCache(),
			interval: opts.RecheckInterval, asked: make(chan struct{}, 1),
		},
		optional: &optionalAPIs{
			mapper: mgr.GetRESTMapper(), scheme: mgr.GetScheme(), cache: made,
			clock: opts.Clock, recheck: opts.RecheckInterval,
			watched: map[schema.GroupVersionKind]bool{}, missed: map[schema.GroupVersionKind]time.Time{},
		},
	}
	built, err := r.build(mgr, made)
	if err != nil {
		return fmt.Errorf("building the operator's controller: %w", err)
	}
	r.optional.watcher, r.optional.handler = built, r.gathered(ownerRequests)
	r.sources = &copiedSecrets{
		mgr: mgr, watcher: built, caches: map[string]cache.Cache{},
		handler: r.gathered(r.sourceRequests),
	}
	if err := mgr.Add(r.review); err != nil {
		return fmt.Errorf("adding the operator's review: %w", err)
	}
	for name, check := range map[string]healthz.Checker{
		"operator-review": r.review.check,
		"operator-cache":  syncedChecker(mgr.GetCache(), made),
	} {
		if err := mgr.AddReadyzCheck(name, check); err != nil {
			return fmt.Errorf("adding the readiness check %s: %w", name, err)
		}
	}
	return nil
}

// retryLimiter says when to try again after an error: soon, and never later than
// what only time changes is looked at.
func retryLimiter(opts Options) workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, opts.RecheckInterval)
}

// build makes the controller with all watches that every cluster has.
func (r *reconciler) build(mgr ctrl.Manager, made cache.Cache) (controller.Controller, error) {
	spec := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, ownStatusLost()))
	b := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&styrminv1.StyrminDeployment{}, spec).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.opts.Concurrency,
			ReconciliationTimeout:   reconcileTimeout,
			RateLimiter:             retryLimiter(r.opts),
		})
	inTarget, owner := r.gathered(r.inTargetNamespace), r.gathered(ownerRequests)
	for _, obj := range []client.Object{&corev1.Pod{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}} {
		b = b.Watches(obj, inTarget)
	}
	for _, obj := range []client.Object{secretMetadata(), &corev1.Namespace{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}} {
		b = b.WatchesRawSource(source.Kind(made, obj, owner))
	}
	return b.Build(r)
}
