// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sourcecontroller reconciles HelmRepositories and HelmCharts as far as HelmReleases need it, and writes the
// status that Flux's source-controller writes. Its artifacts are files of this machine.
package sourcecontroller

import (
	"context"
	"errors"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Delays of Flux's controllers with default flags.
const (
	firstRetryDelay = 750 * time.Millisecond
	lastRetryDelay  = 15 * time.Minute
)

// Setup adds the reconcilers to the manager; artifacts are kept in the folder.
func Setup(manager ctrl.Manager, dir string) error {
	store := artifacts{dir: dir}
	repositories := &repositoryReconciler{client: manager.GetClient(), reader: manager.GetAPIReader(), artifacts: store}
	changed := builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	err := ctrl.NewControllerManagedBy(manager).
		For(&sourcev1.HelmRepository{}, changed).
		WithOptions(controller.Options{RateLimiter: rateLimiter(), MaxConcurrentReconciles: 2}).
		Complete(repositories)
	if err != nil {
		return err
	}
	charts := &chartReconciler{client: manager.GetClient(), reader: manager.GetAPIReader(), artifacts: store}
	return ctrl.NewControllerManagedBy(manager).
		For(&sourcev1.HelmChart{}, changed).
		Watches(&sourcev1.HelmRepository{}, handler.EnqueueRequestsFromMapFunc(charts.chartsOf), builder.WithPredicates(sourceChanged{})).
		WithOptions(controller.Options{RateLimiter: rateLimiter(), MaxConcurrentReconciles: 2}).
		Complete(charts)
}

func rateLimiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetryDelay, lastRetryDelay)
}

// sourceChanged lets through the updates of repositories with another index or another spec than before.
type sourceChanged struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (sourceChanged) Update(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*sourcev1.HelmRepository)
	if !ok {
		return false
	}
	after, ok := e.ObjectNew.(*sourcev1.HelmRepository)
	if !ok {
		return false
	}
	if before.Generation != after.Generation {
		return true
	}
	artifact := after.Status.Artifact
	return artifact != nil && !before.Status.Artifact.HasRevision(artifact.Revision)
}

// attend sees to a source's finalizer. A result says that nothing else is to be done now.
func attend(ctx context.Context, c client.Client, store artifacts, kind string, source client.Object) (*reconcile.Result, error) {
	base, ok := source.DeepCopyObject().(client.Object)
	if !ok {
		return nil, errors.New("a source is an object")
	}
	if !source.GetDeletionTimestamp().IsZero() {
		if err := store.remove(kind, source); err != nil {
			return nil, err
		}
		controllerutil.RemoveFinalizer(source, sourcev1.SourceFinalizer)
		return &reconcile.Result{}, client.IgnoreNotFound(c.Patch(ctx, source, client.MergeFrom(base)))
	}
	if !controllerutil.AddFinalizer(source, sourcev1.SourceFinalizer) {
		return nil, nil
	}
	return &reconcile.Result{RequeueAfter: firstRetryDelay}, c.Patch(ctx, source, client.MergeFrom(base))
}

func reconcileResult(result *reconcile.Result) reconcile.Result {
	if result == nil {
		return reconcile.Result{}
	}
	return *result
}
