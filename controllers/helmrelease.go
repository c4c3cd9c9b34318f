// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmcharts,verbs=get

// reconcileHelmRelease writes the HelmRelease and judges what Flux says of it.
// attempted tells that the pods may be of this rollout: before Flux has begun
// on the present spec they are all of an older one.
func (r *reconciler) reconcileHelmRelease(ctx context.Context, s *scope) (out outcome, attempted bool, err error) {
	desired, err := desiredHelmRelease(s, r.opts)
	if err != nil {
		return outcome{}, false, err
	}
	live, found, err := find(ctx, r, desired)
	if err != nil {
		return outcome{}, false, err
	}
	if found && s.owns(live) && !live.DeletionTimestamp.IsZero() {
		// It cannot be changed any more. It is made anew once it is gone.
		return releaseOutcome(s, r.opts, judgeHelmRelease(live), live.DeletionTimestamp.Time), false, nil
	}
	if found {
		stampRetry(s, r.opts, desired, live)
	}
	release, err := ensureOver(ctx, r, s, desired, live, found)
	if err != nil {
		return outcome{}, false, err
	}
	verdict := judgeHelmRelease(release)
	if verdict.state == releaseWaiting {
		verdict.message = r.chartMessage(ctx, release, verdict.message)
	}
	return releaseOutcome(s, r.opts, verdict, lastProgress(s, release)), verdict.attempted, nil
}

// releaseOutcome is the phase's outcome: the verdict, what was decided on this
// rollout before, and the time that has passed. It is pure.
func releaseOutcome(s *scope, opts Options, v releaseVerdict, lastProgress time.Time) outcome {
	before := s.condition(styrminv1.ConditionHelmReleaseReady)
	wasInstalled := before != nil && before.Status == metav1.ConditionTrue
	hasFailed := before != nil && before.Reason == styrminv1.ReasonHelmFailed
	switch v.state {
	case releaseInstalled:
		return done(v.message)
	case releaseFailed, releaseFailing, releaseDeletionFailed:
		return failed(styrminv1.ReasonHelmFailed, v.message)
	case releaseWaiting:
		if v.attempted && (wasInstalled || hasFailed) {
			return kept(before, hasFailed) // What is in place does not go with its source.
		}
		return waitingOutcome(s, opts, before, v.message)
	case releaseSuspended:
		if wasInstalled || hasFailed {
			return kept(before, hasFailed)
		}
		return outcome{status: metav1.ConditionUnknown, reason: styrminv1.ReasonSuspended, message: v.message}
	case releaseDeleting:
		return progressing("the HelmRelease is being deleted; it is made anew once it is gone").
			withDeadline(lastProgress, s.now, s.helmTimeout()+opts.ProgressGrace)
	default:
		if v.attempted && wasInstalled {
			return kept(before, false) // E02
		}
		if v.attempted && hasFailed && !v.asked {
			return kept(before, true) // O5: Flux tries the same spec again.
		}
		out := progressing("%s", v.message).withDeadline(lastProgress, s.now, s.helmTimeout()+opts.ProgressGrace)
		if left := untilStopped(s, opts, lastProgress); left > 0 {
			return out.after(left) // Then Flux is asked once more.
		}
		return out
	}
}

// waitingOutcome counts as progress for the debounce time: a missing source is
// normal at first. The condition is False meanwhile, so that its transition
// time keeps since when it has been so.
func waitingOutcome(s *scope, opts Options, before *metav1.Condition, message string) outcome {
	out := outcome{status: metav1.ConditionFalse, reason: styrminv1.ReasonSourceNotReady, message: message}
	left := opts.SourceDebounce
	if before != nil && before.Reason == styrminv1.ReasonSourceNotReady {
		left -= atLeast(before.LastTransitionTime.Time, s.now)
	}
	if left > 0 {
		return out.after(left)
	}
	out.failed = true
	return out
}

// lastProgress is when the release last moved, as far as its own status and
// this rollout's tell. Reconciling does not count: each interval has one.
func lastProgress(s *scope, hr *helmv2.HelmRelease) time.Time {
	latest := hr.CreationTimestamp.Time
	if begun := s.since(styrminv1.ConditionPrerequisitesReady); begun.After(latest) {
		latest = begun
	}
	if c := s.condition(styrminv1.ConditionHelmReleaseReady); c != nil && c.Status == metav1.ConditionUnknown && c.LastTransitionTime.After(latest) {
		latest = c.LastTransitionTime.Time
	}
	for _, conditionType := range []string{fluxmeta.ReadyCondition, helmv2.ReleasedCondition} {
		if c := apimeta.FindStatusCondition(hr.Status.Conditions, conditionType); c != nil && c.LastTransitionTime.After(latest) {
			latest = c.LastTransitionTime.Time
		}
	}
	return latest
}

// stampRetry puts the request to start over on the HelmRelease where the spec
// alone makes Flux do nothing: an instance that changed nothing in it, a
// release that has failed, and once in a rollout that has stopped moving (E04,
// E06). What was stamped before stays, since leaving it out would remove it.
func stampRetry(s *scope, opts Options, desired, live *helmv2.HelmRelease) {
	token := live.Annotations[helmv2.ResetRequestAnnotation]
	switch {
	case live.Annotations[styrminv1.AnnotationRollout] != s.rollout():
		verdict := judgeHelmRelease(live)
		hasFailed := verdict.state == releaseFailed || verdict.state == releaseFailing
		if hasFailed || isSameRelease(desired, live) {
			token = s.rollout()
		}
	case hasStopped(s, opts, live):
		token = s.rollout() + "/again"
	}
	if token == "" {
		return
	}
	desired.Annotations[helmv2.ResetRequestAnnotation] = token
	if isAskedByOthers(s, live, token) {
		return // Leaving out what is not the operator's any more removes nothing.
	}
	desired.Annotations[fluxmeta.ReconcileRequestAnnotation] = token
}

// isAskedByOthers tells whether someone made a request of their own, as `flux
// reconcile` does, which waits until Flux has handled that very one. It is left
// once Flux has ended the try that the operator asked for, by a verdict on the
// release.
func isAskedByOthers(s *scope, live *helmv2.HelmRelease, token string) bool {
	request := live.Annotations[fluxmeta.ReconcileRequestAnnotation]
	verdict := s.condition(styrminv1.ConditionHelmReleaseReady)
	return request != "" && request != token && live.Status.LastHandledResetAt == token &&
		verdict != nil && (verdict.Status == metav1.ConditionTrue || verdict.Reason == styrminv1.ReasonHelmFailed)
}

// isSameRelease tells whether the specs as written by the operator are equal.
func isSameRelease(desired, live *helmv2.HelmRelease) bool {
	return live.Annotations[annotationReleaseHash] == desired.Annotations[annotationReleaseHash]
}

// hasStopped tells whether a release in progress is late enough to be asked
// once more before it counts as failed: half of the grace is over.
func hasStopped(s *scope, opts Options, live *helmv2.HelmRelease) bool {
	if v := judgeHelmRelease(live); v.state != releaseInProgress || s.isTrue(styrminv1.ConditionHelmReleaseReady) {
		return false
	}
	return untilStopped(s, opts, lastProgress(s, live)) <= 0
}

// untilStopped is how much longer a release may stand still before it has
// stopped; 0 or less: it has.
func untilStopped(s *scope, opts Options, lastProgress time.Time) time.Duration {
	return s.helmTimeout() + opts.ProgressGrace/2 - atLeast(lastProgress, s.now)
}

// chartMessage is why the chart is not there, from the HelmChart that Flux
// made: the HelmRelease itself learns of it up to 30 s later.
func (r *reconciler) chartMessage(ctx context.Context, release *helmv2.HelmRelease, otherwise string) string {
	chart := &sourcev1.HelmChart{}
	key := client.ObjectKey{Namespace: release.Namespace, Name: release.GetHelmChartName()}
	if err := r.live.Get(ctx, key, chart); err != nil {
		return otherwise
	}
	ready := apimeta.FindStatusCondition(chart.Status.Conditions, fluxmeta.ReadyCondition)
	if !is(ready, metav1.ConditionFalse, chart.Generation) {
		return otherwise
	}
	return fmt.Sprintf("chart %s %s: %s", chart.Spec.Chart, chart.Spec.Version, ready.Message)
}
