// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=styrmin.io,resources=styrmindeployments,verbs=list;watch;patch
// +kubebuilder:rbac:groups=styrmin.io,resources=styrmindeployments/status,verbs=patch

// conflictRetry is when to look again after a write that met a newer object.
// The event of that object usually comes first.
const conflictRetry = time.Second

// reconciler works on StyrminDeployments. It alone writes their status and
// finalizer, and everything that carries their id; it leaves all else as it is.
//
// A reconcile ends in one of three ways: done, where watches tell of the next
// change; RequeueAfter, where time alone changes the outcome; an error, which is
// tried again with backoff.
type reconciler struct {
	// client writes, and reads through no cache of its own.
	client client.Client
	// cached reads what the manager's cache holds: StyrminDeployments, pods and
	// workloads.
	cached client.Reader
	// made reads what the operator made, by the label that it puts on it; of
	// secrets the metadata.
	made client.Reader
	// live reads from the API server.
	live client.Reader

	scheme   *runtime.Scheme
	optional *optionalAPIs
	recorder recorder.EventRecorder
	opts     Options
	secrets  secretMemory
	sources  *copiedSecrets
	review   *startReview
	// removals and releases are errors of deletions, and of work on HelmReleases.
	removals, releases errorSpells
}

// Reconcile brings one StyrminDeployment a step further and writes down in its
// status what was found.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	d := &styrminv1.StyrminDeployment{}
	if err := r.cached.Get(ctx, req.NamespacedName, d); err != nil {
		if apierrors.IsNotFound(err) {
			forgetDeployment(req.NamespacedName)
			r.removals.forget(req.NamespacedName)
			r.releases.forget(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading the StyrminDeployment: %w", err)
	}
	showOnce(req.NamespacedName, &d.Status)
	s := newScope(d, r.opts.Clock.Now())
	if r.isStillOutdated(ctx, s) {
		return ctrl.Result{RequeueAfter: r.opts.RecheckInterval}, nil
	}
	work := r.reconcileRollout
	if !d.DeletionTimestamp.IsZero() {
		work = r.reconcileDeletion
	}
	after, err := work(ctx, s)
	if apierrors.IsConflict(err) {
		log.FromContext(ctx).V(1).Info("Met a newer object, starting over", "reason", err.Error())
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	}
	var outdated *outdatedCRDError
	if errors.As(err, &outdated) {
		return ctrl.Result{RequeueAfter: r.opts.RecheckInterval}, r.reportOutdated(ctx, s, outdated)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// reconcileRollout works on what the spec asks for. It returns when to look
// again, 0 for never.
func (r *reconciler) reconcileRollout(ctx context.Context, s *scope) (time.Duration, error) {
	if startsRollout(s.deployment) {
		r.releases.forget(client.ObjectKeyFromObject(s.deployment))
		if err := r.writeStatus(ctx, s, startStatus(s)); err != nil {
			return 0, err
		}
	}
	if err := r.ensureFinalizer(ctx, s); err != nil {
		return 0, err
	}
	observed, err := r.runPhases(ctx, s)
	if observed.prerequisites == nil {
		return 0, err
	}
	status, after := nextStatus(s, r.opts, observed)
	if writeErr := r.writeStatus(ctx, s, status); writeErr != nil {
		return 0, writeErr
	}
	return after, err
}

// runPhases runs the phases in order until one is not done (O2), and looks at
// the components whatever came of them: they run on while a rollout is held up.
// With an error it returns what is worth writing down all the same, or nothing.
func (r *reconciler) runPhases(ctx context.Context, s *scope) (observation, error) {
	o, attempted, err := r.workThrough(ctx, s)
	if o.prerequisites == nil {
		return observation{}, err
	}
	var observeErr error
	o.readiness, observeErr = r.observeReadiness(ctx, s, progress{
		attempted: attempted,
		installed: o.release != nil && o.release.done(),
	})
	if observeErr != nil {
		return observation{}, errors.Join(err, observeErr)
	}
	return o, err
}

// workThrough does the phases' work in order. attempted is reconcileHelmRelease's.
func (r *reconciler) workThrough(ctx context.Context, s *scope) (o observation, attempted bool, err error) {
	o.prerequisites, err = r.runPhase(s, styrminv1.ConditionPrerequisitesReady, func() (outcome, error) {
		return r.reconcilePrerequisites(ctx, s)
	})
	if err != nil || !o.prerequisites.done() {
		r.releases.forget(client.ObjectKeyFromObject(s.deployment)) // It is not at the release.
		return o, false, err
	}
	o.release, err = r.runPhase(s, styrminv1.ConditionHelmReleaseReady, func() (out outcome, err error) {
		out, attempted, err = r.reconcileHelmRelease(ctx, s)
		return out, err
	})
	if err != nil && o.release == nil {
		return observation{}, false, err
	}
	if err != nil || !o.release.done() {
		return o, attempted, err
	}
	o.services, err = r.runPhase(s, styrminv1.ConditionServicesReady, func() (outcome, error) {
		return r.reconcileServices(ctx, s)
	})
	if err != nil && o.services == nil {
		return observation{}, false, err
	}
	return o, attempted, err
}

// runPhase runs one phase and translates its error. One that says nothing about
// the spec is returned, with an outcome only where the phase is still under
// way: what is in place is not taken back because the API server is away, nor is
// what has failed.
func (r *reconciler) runPhase(s *scope, condition string, work func() (outcome, error)) (*outcome, error) {
	out, err := work()
	if err != nil {
		translated, ok := r.opts.outcomeOf(err)
		switch {
		case ok:
			out, err = translated, nil
		case apierrors.IsConflict(err) || s.isDecided(condition):
			return nil, err
		default:
			out = progressing("%s", err)
		}
	}
	limit := s.helmTimeout() + r.opts.ProgressGrace
	switch {
	case condition != styrminv1.ConditionHelmReleaseReady:
		out = s.withDeadline(out, condition, limit)
	case err != nil:
		// A release that Flux works on has a deadline of its own, which an error
		// hides: only errors that last have one.
		out = out.withDeadline(r.releases.since(s), s.now, limit)
	default:
		r.releases.forget(client.ObjectKeyFromObject(s.deployment))
	}
	return &out, err
}

// phaseBefore is the condition whose becoming True begins a phase.
var phaseBefore = map[string]string{
	styrminv1.ConditionHelmReleaseReady: styrminv1.ConditionPrerequisitesReady,
	styrminv1.ConditionServicesReady:    styrminv1.ConditionHelmReleaseReady,
}

// withDeadline turns an outcome that has been on the way for longer than limit
// into a failure, which stays one until the phase moves on.
func (s *scope) withDeadline(out outcome, condition string, limit time.Duration) outcome {
	before := s.condition(condition)
	if out.status != metav1.ConditionUnknown || before == nil {
		return out
	}
	if before.Reason == styrminv1.ReasonTimedOut {
		return out.timedOut(limit)
	}
	since := before.LastTransitionTime.Time
	if begun := s.since(phaseBefore[condition]); begun.After(since) {
		since = begun
	}
	if before.Status != metav1.ConditionUnknown {
		since = s.now
	}
	return out.withDeadline(since, s.now, limit)
}

// ensureFinalizer puts the finalizer on the object before anything is made for
// it (O6).
func (r *reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	if controllerutil.ContainsFinalizer(s.deployment, styrminv1.Finalizer) {
		return nil
	}
	u := s.applyObject()
	u.SetFinalizers([]string{styrminv1.Finalizer})
	if err := r.apply(ctx, u); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	s.resourceVersion = u.GetResourceVersion()
	return nil
}
