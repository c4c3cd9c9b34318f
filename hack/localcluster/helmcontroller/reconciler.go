// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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
	// recheckDelay is how soon a dependency or a source that is not ready is looked at again without an event of it.
	recheckDelay = 30 * time.Second
)

// workers is how many HelmReleases are reconciled at the same time. Flux's default is 4, and an install that waits for its
// pods holds one: with more, no HelmRelease stands in line behind others that fail.
const workers = 32

// Reconciler reconciles HelmReleases: it installs, upgrades, remediates and uninstalls their Helm releases, and writes
// their status. It retries failures that left no trace in Helm's storage with exponential delays; all other failures are
// the business of the spec's remediation.
type Reconciler struct {
	client client.Client
	// reader reads past the cache: a reconciliation starts from what the last one wrote.
	reader client.Reader
	config *rest.Config
}

// setup adds the reconciler to the manager.
func (r *Reconciler) setup(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&helmv2.HelmRelease{}, builder.WithPredicates(predicate.Or[client.Object](
			predicate.GenerationChangedPredicate{}, reconcileRequested{}))).
		Watches(&sourcev1.HelmChart{}, handler.EnqueueRequestsFromMapFunc(r.releasesOf), builder.WithPredicates(revisionChanged{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetryDelay, lastRetryDelay),
		}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var hr helmv2.HelmRelease
	if err := r.reader.Get(ctx, request.NamespacedName, &hr); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !hr.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.delete(ctx, &hr)
	}
	if !controllerutil.ContainsFinalizer(&hr, helmv2.HelmReleaseFinalizer) {
		base := hr.DeepCopy()
		controllerutil.AddFinalizer(&hr, helmv2.HelmReleaseFinalizer)
		return reconcile.Result{RequeueAfter: firstRetryDelay}, r.client.Patch(ctx, &hr, client.MergeFrom(base))
	}
	patcher := newStatusPatcher(r.client, r.reader, &hr)
	result, reconcileErr := r.reconcile(ctx, &hr, patcher)
	if ctx.Err() != nil {
		return reconcile.Result{}, reconcileErr // The controller stops; a half-told status would be a wrong one.
	}
	if token, requested := fluxmeta.ReconcileAnnotationValue(hr.GetAnnotations()); requested {
		hr.Status.SetLastHandledReconcileRequest(token)
	}
	if result.settled && reconcileErr == nil {
		hr.Status.ObservedGeneration = hr.Generation
	}
	if err := patcher.patch(ctx, &hr); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(errors.Join(reconcileErr, err))
	}
	return reconcile.Result{RequeueAfter: result.again}, reconcileErr
}

// reconcile does what is to be done for a HelmRelease that is not being deleted.
func (r *Reconciler) reconcile(ctx context.Context, hr *helmv2.HelmRelease, p *statusPatcher) (outcome, error) {
	if hr.Spec.Suspend {
		return outcome{settled: true}, nil
	}
	source, err := r.chartOf(ctx, hr)
	if err != nil {
		return outcome{}, err
	}
	markReconciling(hr, fluxmeta.ProgressingReason, "Fulfilling prerequisites")
	if err := p.patch(ctx, hr); err != nil {
		return outcome{}, err
	}
	want, blocked, err := r.prerequisites(ctx, hr, source)
	if err != nil {
		return outcome{}, err
	}
	if blocked != nil {
		markReady(hr, metav1.ConditionFalse, blocked.reason, blocked.message)
		return outcome{again: blocked.again}, nil
	}
	if mustResetFailures(hr, want) {
		hr.Status.ClearFailures()
	}
	hr.Status.LastAttemptedGeneration = hr.Generation
	hr.Status.LastAttemptedRevision = want.chart.Metadata.Version
	hr.Status.LastAttemptedConfigDigest = want.configDigest
	hr.Status.StorageNamespace = hr.GetStorageNamespace()
	h, err := newHelm(ctx, r.config, hr)
	if err != nil {
		return outcome{}, err
	}
	return r.release(ctx, h, p, want)
}

// releasesOf maps a HelmChart to the HelmReleases that are made from it.
func (r *Reconciler) releasesOf(ctx context.Context, source client.Object) []reconcile.Request {
	var list helmv2.HelmReleaseList
	if err := r.client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the HelmReleases of a chart", "chart", client.ObjectKeyFromObject(source))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if key, found := chartKey(&list.Items[i]); found && key == client.ObjectKeyFromObject(source) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// chartKey names the HelmChart that a HelmRelease is made from.
func chartKey(hr *helmv2.HelmRelease) (types.NamespacedName, bool) {
	if ref := hr.Spec.ChartRef; ref != nil {
		namespace := ref.Namespace
		if namespace == "" {
			namespace = hr.Namespace
		}
		return types.NamespacedName{Namespace: namespace, Name: ref.Name}, ref.Kind == sourcev1.HelmChartKind
	}
	if hr.Spec.Chart == nil {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: hr.GetHelmChartName()}, true
}

// revisionChanged lets through the sources that offer another artifact than before. One that was just made offers none:
// its event would only start the reconciliation once more that made it, and what then is reconciled, while its artifact
// arrives, one time more than what happened calls for.
type revisionChanged struct{ predicate.Funcs }

// Create implements predicate.Predicate.
func (revisionChanged) Create(e event.CreateEvent) bool {
	created, ok := e.Object.(*sourcev1.HelmChart)
	return ok && created.GetArtifact() != nil
}

// Update implements predicate.Predicate.
func (revisionChanged) Update(e event.UpdateEvent) bool {
	before, ok := e.ObjectOld.(*sourcev1.HelmChart)
	if !ok {
		return false
	}
	after, ok := e.ObjectNew.(*sourcev1.HelmChart)
	if !ok || after.GetArtifact() == nil {
		return false
	}
	return before.GetArtifact() == nil || !before.GetArtifact().HasRevision(after.GetArtifact().Revision)
}

// reconcileRequested lets through the updates that ask for a reconciliation by annotation.
type reconcileRequested struct{ predicate.Funcs }

// Update implements predicate.Predicate.
func (reconcileRequested) Update(e event.UpdateEvent) bool {
	after, requested := fluxmeta.ReconcileAnnotationValue(e.ObjectNew.GetAnnotations())
	before, _ := fluxmeta.ReconcileAnnotationValue(e.ObjectOld.GetAnnotations())
	return requested && after != before
}
