// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// condition makes a condition of a HelmRelease.
func condition(conditionType string, status metav1.ConditionStatus, generation int64, reason, message string) metav1.Condition {
	return metav1.Condition{
		Type: conditionType, Status: status, ObservedGeneration: generation, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(noon),
	}
}

// releaseAt makes a HelmRelease at a generation whose status has observed and
// attempted others.
func releaseAt(generation, observed, attempted int64, conditions ...metav1.Condition) *helmv2.HelmRelease {
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "target", Name: "shop", Generation: generation, Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(noon),
		},
		Status: helmv2.HelmReleaseStatus{
			ObservedGeneration: observed, LastAttemptedGeneration: attempted, Conditions: conditions,
		},
	}
}

func withHistory(hr *helmv2.HelmRelease, statuses ...string) *helmv2.HelmRelease {
	for i, status := range statuses { // Newest first, as Flux writes it.
		hr.Status.History = append(hr.Status.History, &helmv2.Snapshot{Version: len(statuses) - i, Status: status})
	}
	return hr
}

func asked(hr *helmv2.HelmRelease, token, handledReset, handledReconcile string) *helmv2.HelmRelease {
	hr.Annotations[helmv2.ResetRequestAnnotation] = token
	hr.Annotations[fluxmeta.ReconcileRequestAnnotation] = token
	hr.Status.LastHandledResetAt, hr.Status.LastHandledReconcileAt = handledReset, handledReconcile
	return hr
}

func suspended(hr *helmv2.HelmRelease) *helmv2.HelmRelease {
	hr.Spec.Suspend = true
	return hr
}

// What the recordings do not have, or only in passing: they are in the replay.
func TestO3JudgeHelmRelease(t *testing.T) {
	const (
		T, F, U = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		ready   = fluxmeta.ReadyCondition
	)
	deadline := condition(helmv2.ReleasedCondition, F, 4, helmv2.UpgradeFailedReason, "Helm upgrade failed: deadline exceeded")
	failing := releaseAt(4, 4, 4, condition(ready, F, 4, helmv2.UpgradeFailedReason, "Helm upgrade failed: deadline exceeded"), deadline)
	for name, tc := range map[string]struct {
		release     *helmv2.HelmRelease
		wantState   releaseState
		wantMessage string
	}{
		"E01 a: Ready is of the generation before": {
			release:     withHistory(releaseAt(4, 4, 4, condition(ready, T, 3, helmv2.UpgradeSucceededReason, "ok")), helmDeployed),
			wantState:   releaseInProgress,
			wantMessage: "waiting until Flux has ended its work on this spec: ok",
		},
		"E01 b: the reconcile of this generation has not ended": {
			release:     withHistory(releaseAt(4, 3, 4, condition(ready, T, 4, helmv2.UpgradeSucceededReason, "ok")), helmDeployed),
			wantState:   releaseInProgress,
			wantMessage: "waiting until Flux has ended its work on this spec: ok",
		},
		"E03: the cause comes from Released, not from the rollback that succeeded": {
			release: withHistory(releaseAt(4, 4, 4,
				condition(fluxmeta.StalledCondition, T, 4, retriesExceeded, "Failed to upgrade after 1 attempt(s)"),
				condition(ready, F, 4, helmv2.RollbackSucceededReason, "Helm rollback to v18 succeeded"),
				deadline,
				condition(helmv2.RemediatedCondition, T, 4, helmv2.RollbackSucceededReason, "Helm rollback to v18 succeeded")),
				helmDeployed, "failed", "superseded"),
			wantState:   releaseFailed,
			wantMessage: "Helm upgrade failed: deadline exceeded; Helm rollback to v18 succeeded; no retries are left",
		},
		"E03: stalled without a try of this spec says Ready's message": {
			release: releaseAt(4, 4, 3,
				condition(fluxmeta.StalledCondition, T, 4, "AccessDenied", "no access"),
				condition(ready, F, 4, "AccessDenied", "cross-namespace access is not allowed")),
			wantState:   releaseFailed,
			wantMessage: "cross-namespace access is not allowed",
		},
		"E04: a new try was asked for and Flux has not begun": {
			release:   asked(withHistory(releaseAt(4, 4, 4, condition(ready, T, 4, "UpgradeSucceeded", "ok")), helmDeployed), "i-9/9", "", ""),
			wantState: releaseInProgress, wantMessage: "waiting until Flux has tried again",
		},
		"E04: the new try is under way": {
			release:   asked(withHistory(releaseAt(4, 4, 4, condition(ready, T, 4, "UpgradeSucceeded", "ok")), helmDeployed), "i-9/9", "i-9/9", "i-8/8"),
			wantState: releaseInProgress, wantMessage: "waiting until Flux has tried again",
		},
		"E04: the new try has ended": {
			release:   asked(withHistory(releaseAt(4, 4, 4, condition(ready, T, 4, "UpgradeSucceeded", "ok")), helmDeployed), "i-9/9", "i-9/9", "i-9/9"),
			wantState: releaseInstalled, wantMessage: "ok",
		},
		"E04: a stalled release that was asked to try again is not failed yet": {
			release: asked(releaseAt(4, 4, 4,
				condition(fluxmeta.StalledCondition, T, 4, retriesExceeded, "Failed"), deadline), "i-9/9", "", ""),
			wantState: releaseInProgress, wantMessage: "waiting until Flux has tried again",
		},
		"a retrying release is failing though its reconcile has ended (04d)": {
			release:   failing,
			wantState: releaseFailing, wantMessage: "Helm upgrade failed: deadline exceeded",
		},
		"the failure of an older spec, stamped with this generation, is none while the first try runs": {
			release:   releaseAt(4, 3, 4, condition(ready, U, 4, fluxmeta.ProgressingReason, "Running 'upgrade' action"), deadline),
			wantState: releaseInProgress, wantMessage: "Running 'upgrade' action",
		},
		"an observed generation under suspension is no proof (20)": {
			release:   withHistory(releaseAt(2, 2, 1, condition(ready, T, 2, helmv2.InstallSucceededReason, "ok")), helmDeployed),
			wantState: releaseInProgress, wantMessage: "waiting until Flux begins with this spec",
		},
		"suspended, whatever the conditions say": {
			release:   suspended(withHistory(releaseAt(2, 2, 2, condition(ready, T, 2, helmv2.InstallSucceededReason, "ok")), helmDeployed)),
			wantState: releaseSuspended, wantMessage: "the HelmRelease is suspended; resume it to go on",
		},
		"a cancelled health check is no failure (22)": {
			release: releaseAt(2, -1, 1,
				condition(fluxmeta.StalledCondition, T, 2, "HealthCheckCanceled", "cancelled"),
				condition(ready, F, 2, "HealthCheckCanceled", "cancelled")),
			wantState: releaseInProgress, wantMessage: "waiting until Flux begins with this spec",
		},
		"a newest version that is not deployed is not installed": {
			release:   withHistory(releaseAt(2, 2, 2, condition(ready, T, 2, helmv2.UpgradeSucceededReason, "ok")), "failed", helmDeployed),
			wantState: releaseInProgress, wantMessage: "waiting until Flux has ended its work on this spec: ok",
		},
		"values that are not there": {
			release:   releaseAt(1, -1, 0, condition(ready, F, 1, "ValuesError", "ConfigMap not found")),
			wantState: releaseWaiting, wantMessage: "ConfigMap not found",
		},
		"a release that cannot be uninstalled": {
			release: func() *helmv2.HelmRelease {
				hr := releaseAt(2, 1, 1, condition(ready, F, 2, helmv2.UninstallFailedReason, "held"))
				hr.DeletionTimestamp = &metav1.Time{Time: noon}
				return hr
			}(),
			wantState: releaseDeletionFailed, wantMessage: "held",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.release.DeepCopy()
			got := judgeHelmRelease(tc.release)
			if got.state != tc.wantState || got.message != tc.wantMessage {
				t.Errorf("judged as %s: %q, want %s: %q", got.state, got.message, tc.wantState, tc.wantMessage)
			}
			if diff := cmp.Diff(before, tc.release); diff != "" {
				t.Errorf("the decision changed what it was given (-before +after):\n%s", diff)
			}
		})
	}
}

// noon is the time at which these tests begin.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// statusWith returns a status at noon whose HelmReleaseReady is as given.
func statusWith(status metav1.ConditionStatus, reason, message string, since time.Time) styrminv1.StyrminDeploymentStatus {
	s := newScope(&styrminv1.StyrminDeployment{}, noon)
	out := startStatus(s)
	setCondition(&out, noon, styrminv1.ConditionPrerequisitesReady, done(""))
	setCondition(&out, since, styrminv1.ConditionHelmReleaseReady, outcome{status: metav1.ConditionTrue})
	setCondition(&out, since, styrminv1.ConditionHelmReleaseReady, outcome{status: metav1.ConditionFalse})
	setCondition(&out, since, styrminv1.ConditionHelmReleaseReady, outcome{status: status, reason: reason, message: message})
	return out
}

func TestO3ReleaseOutcome(t *testing.T) {
	opts := Options{}.withDefaults()
	progress := statusWith(metav1.ConditionUnknown, styrminv1.ReasonProgressing, "running", noon)
	installed := statusWith(metav1.ConditionTrue, styrminv1.ReasonSucceeded, "installed", noon)
	failedBefore := statusWith(metav1.ConditionFalse, styrminv1.ReasonHelmFailed, "it failed", noon)
	waiting := statusWith(metav1.ConditionFalse, styrminv1.ReasonSourceNotReady, "no chart", noon)
	timedOut := statusWith(metav1.ConditionFalse, styrminv1.ReasonTimedOut, "late", noon)
	limit := defaultHelmTimeout + opts.ProgressGrace
	ask := defaultHelmTimeout + opts.ProgressGrace/2 // Flux is asked once more then.
	for name, tc := range map[string]struct {
		before       styrminv1.StyrminDeploymentStatus
		verdict      releaseVerdict
		after        time.Duration
		lastProgress time.Time
		want         outcome
	}{
		"installed": {
			before: progress, verdict: releaseVerdict{state: releaseInstalled, message: "ok"},
			want: done("ok"),
		},
		"E02: Unknown on an installed generation changes nothing": {
			before: installed, verdict: releaseVerdict{state: releaseInProgress, attempted: true, message: "prerequisites"}, after: time.Hour,
			lastProgress: noon,
			want:         outcome{status: metav1.ConditionTrue, reason: styrminv1.ReasonSucceeded, message: "installed"},
		},
		"a new generation of an installed release is in progress": {
			before: installed, verdict: releaseVerdict{state: releaseInProgress, message: "begins"}, lastProgress: noon,
			want: progressing("begins").after(ask + time.Second),
		},
		"O5: a retry of the same spec stays the one failure": {
			before: failedBefore, verdict: releaseVerdict{state: releaseInProgress, attempted: true, message: "running"}, after: time.Hour,
			lastProgress: noon,
			want:         failed(styrminv1.ReasonHelmFailed, "it failed"),
		},
		"D05: a try that someone asked for is a new one": {
			before: failedBefore, verdict: releaseVerdict{state: releaseInProgress, attempted: true, asked: true, message: "again"},
			lastProgress: noon,
			want:         progressing("again").after(ask + time.Second),
		},
		"O5: a release that recovers leaves Failed": {
			before: failedBefore, verdict: releaseVerdict{state: releaseInstalled, message: "ok"}, after: time.Hour,
			want: done("ok"),
		},
		"E07: a missing source is progress at first": {
			before: progress, verdict: releaseVerdict{state: releaseWaiting, message: "no chart"}, after: 3 * time.Second,
			want: outcome{status: metav1.ConditionFalse, reason: styrminv1.ReasonSourceNotReady, message: "no chart", recheckAfter: time.Minute},
		},
		"E07: a missing source within a minute is progress": {
			before: waiting, verdict: releaseVerdict{state: releaseWaiting, message: "no chart"}, after: time.Minute,
			want: outcome{status: metav1.ConditionFalse, reason: styrminv1.ReasonSourceNotReady, message: "no chart", recheckAfter: time.Second},
		},
		"E07: a source that stays away is a failure": {
			before: waiting, verdict: releaseVerdict{state: releaseWaiting, message: "no chart"}, after: 62 * time.Second,
			want: failed(styrminv1.ReasonSourceNotReady, "no chart"),
		},
		"E07: the source came": {
			before: waiting, verdict: releaseVerdict{state: releaseInProgress, message: "running"}, after: 40 * time.Second,
			lastProgress: noon.Add(40 * time.Second),
			want:         progressing("running").after(ask + time.Second),
		},
		"E06: no progress for the timeout and the grace is a failure": {
			before: progress, verdict: releaseVerdict{state: releaseInProgress, attempted: true, message: "Running 'install'"},
			after: limit + time.Second, lastProgress: noon,
			want: failed(styrminv1.ReasonTimedOut, "no progress for longer than 6m0s: Running 'install'"),
		},
		"E06: once Flux was asked again, the next look is at the failure": {
			before: progress, verdict: releaseVerdict{state: releaseInProgress, attempted: true, message: "Running 'install'"},
			after: ask + time.Second, lastProgress: noon,
			want: progressing("Running 'install'").after(opts.ProgressGrace / 2),
		},
		"E06: it stays one until something moves": {
			before: timedOut, verdict: releaseVerdict{state: releaseInProgress, attempted: true, message: "Running 'install'"},
			after: 2 * limit, lastProgress: noon,
			want: failed(styrminv1.ReasonTimedOut, "no progress for longer than 6m0s: Running 'install'"),
		},
		"E06: progress after it is progress": {
			before: timedOut, verdict: releaseVerdict{state: releaseInProgress, attempted: true, message: "Running 'install'"},
			after: 2 * limit, lastProgress: noon.Add(2 * limit),
			want: progressing("Running 'install'").after(ask + time.Second),
		},
		"a release that someone suspended stays installed": {
			before: installed, verdict: releaseVerdict{state: releaseSuspended, message: "suspended"},
			want: outcome{status: metav1.ConditionTrue, reason: styrminv1.ReasonSucceeded, message: "installed"},
		},
		"a rollout of a suspended release waits": {
			before: progress, verdict: releaseVerdict{state: releaseSuspended, message: "suspended"}, after: time.Hour,
			want: outcome{status: metav1.ConditionUnknown, reason: styrminv1.ReasonSuspended, message: "suspended"},
		},
		"a failed release that someone suspended stays failed": {
			before: failedBefore, verdict: releaseVerdict{state: releaseSuspended, message: "suspended"},
			want: failed(styrminv1.ReasonHelmFailed, "it failed"),
		},
		"a release that someone deleted comes again": {
			before: installed, verdict: releaseVerdict{state: releaseDeleting},
			lastProgress: noon,
			want:         progressing("the HelmRelease is being deleted; it is made anew once it is gone").after(limit + time.Second),
		},
		"a release that someone deleted and that does not go is a failure": {
			before: installed, verdict: releaseVerdict{state: releaseDeleting}, after: limit + time.Second, lastProgress: noon,
			want: failed(styrminv1.ReasonTimedOut,
				"no progress for longer than 6m0s: the HelmRelease is being deleted; it is made anew once it is gone"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(&styrminv1.StyrminDeployment{Status: tc.before}, noon.Add(tc.after))
			got := releaseOutcome(s, opts, tc.verdict, tc.lastProgress)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("outcome differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestE04SomeoneElsesRequestStays: `flux reconcile` waits until Flux has handled
// the very request that it made. While the operator's own try goes on, it has to
// wait.
func TestE04SomeoneElsesRequestStays(t *testing.T) {
	own := map[string]string{helmv2.ResetRequestAnnotation: "i-2/2", fluxmeta.ReconcileRequestAnnotation: "i-2/2"}
	for name, tc := range map[string]struct {
		handled string
		status  metav1.ConditionStatus
		reason  string
		want    map[string]string
	}{
		"the release is installed": {
			"i-2/2", metav1.ConditionTrue, styrminv1.ReasonSucceeded, map[string]string{helmv2.ResetRequestAnnotation: "i-2/2"},
		},
		"Flux has not begun on the operator's": {"", metav1.ConditionTrue, styrminv1.ReasonSucceeded, own},
		"the release is on its way":            {"i-2/2", metav1.ConditionUnknown, styrminv1.ReasonProgressing, own},
		"the release has failed": {
			"i-2/2", metav1.ConditionFalse, styrminv1.ReasonHelmFailed, map[string]string{helmv2.ResetRequestAnnotation: "i-2/2"},
		},
		"its source is not there": {"i-2/2", metav1.ConditionFalse, styrminv1.ReasonSourceNotReady, own},
	} {
		t.Run(name, func(t *testing.T) {
			d := &styrminv1.StyrminDeployment{Status: statusWith(tc.status, tc.reason, "", noon)}
			d.Generation, d.Spec.InstanceID = 2, "i-2"
			live := releaseAt(1, 1, 1, condition(fluxmeta.ReadyCondition, metav1.ConditionTrue, 1, "InstallSucceeded", "ok"))
			live.Annotations[styrminv1.AnnotationRollout] = "i-2/2"
			live.Annotations[helmv2.ResetRequestAnnotation] = "i-2/2"
			live.Annotations[fluxmeta.ReconcileRequestAnnotation] = "by hand"
			live.Status.LastHandledResetAt = tc.handled
			desired := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
			stampRetry(newScope(d, noon), Options{}.withDefaults(), desired, live)
			if diff := cmp.Diff(tc.want, desired.Annotations); diff != "" {
				t.Errorf("annotations differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestO5SomeoneElsesRequestsLeaveAFailureOne: not the first, nor one that comes
// after Flux has handled another.
func TestO5SomeoneElsesRequestsLeaveAFailureOne(t *testing.T) {
	for name, tc := range map[string]struct {
		request, handled string
		want             bool
	}{
		"the operator's, not ended":      {"i-2/2", "i-1/1", true},
		"the operator's, ended":          {"i-2/2", "i-2/2", false},
		"someone's, not handled":         {"one", "i-2/2", false},
		"someone's, handled":             {"one", "one", false},
		"another one after someone's":    {"two", "one", false},
		"the operator's once more again": {"i-2/2", "one", true},
	} {
		t.Run(name, func(t *testing.T) {
			hr := releaseAt(1, 1, 1)
			asked(hr, "i-2/2", "i-2/2", tc.handled)
			hr.Annotations[fluxmeta.ReconcileRequestAnnotation] = tc.request
			if got := isAskedToRetry(hr); got != tc.want {
				t.Errorf("asked: %t", got)
			}
		})
	}
}

func TestE04StampRetry(t *testing.T) {
	opts := Options{}.withDefaults()
	installed := func(rollout, hash, token string) *helmv2.HelmRelease {
		hr := withHistory(releaseAt(1, 1, 1, condition(fluxmeta.ReadyCondition, metav1.ConditionTrue, 1, "InstallSucceeded", "ok")), helmDeployed)
		hr.Annotations[styrminv1.AnnotationRollout] = rollout
		hr.Annotations[annotationReleaseHash] = hash
		if token != "" {
			asked(hr, token, token, token)
		}
		return hr
	}
	stalled := releaseAt(1, 1, 1, condition(fluxmeta.StalledCondition, metav1.ConditionTrue, 1, retriesExceeded, "no"))
	stalled.Annotations[styrminv1.AnnotationRollout] = "i-1/1"
	stuck := releaseAt(1, 0, 1, condition(fluxmeta.ReadyCondition, metav1.ConditionUnknown, 1, "Progressing", "Running"))
	stuck.Annotations[styrminv1.AnnotationRollout] = "i-2/2"
	for name, tc := range map[string]struct {
		live  *helmv2.HelmRelease
		after time.Duration
		want  string
	}{
		"an instance that changed nothing in the release asks":            {live: installed("i-1/1", "same", ""), want: "i-2/2"},
		"an instance that changed the release need not":                   {live: installed("i-1/1", "other", ""), want: ""},
		"an earlier request is kept, since leaving it out would end it":   {live: installed("i-1/1", "other", "i-0/0"), want: "i-0/0"},
		"the same rollout does not ask twice":                             {live: installed("i-2/2", "same", "i-2/2"), want: "i-2/2"},
		"a stalled release is asked though the spec is new":               {live: stalled, want: "i-2/2"},
		"E06: a release that moves is left alone":                         {live: stuck, after: 5 * time.Minute, want: ""},
		"E06: one that has stopped is asked once before it counts failed": {live: stuck, after: 5*time.Minute + 32*time.Second, want: "i-2/2/again"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &styrminv1.StyrminDeployment{}
			d.Generation, d.Spec.InstanceID = 2, "i-2"
			d.Status = statusWith(metav1.ConditionUnknown, styrminv1.ReasonProgressing, "", noon)
			desired := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotationReleaseHash: "same"}}}
			stampRetry(newScope(d, noon.Add(tc.after)), opts, desired, tc.live)
			for _, annotation := range []string{helmv2.ResetRequestAnnotation, fluxmeta.ReconcileRequestAnnotation} {
				if got := desired.Annotations[annotation]; got != tc.want {
					t.Errorf("%s = %q, want %q", annotation, got, tc.want)
				}
			}
		})
	}
}
