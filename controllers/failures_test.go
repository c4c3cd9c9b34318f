// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestFailuresAreTranslated: what only the cluster can know fails the phase with
// a reason; what says nothing about the spec is an error that is tried again.
func TestFailuresAreTranslated(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	terminating := apierrors.NewForbidden(services, "web", errors.New("because it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	unserved := apierrors.NewGenericServerResponse(404, "PATCH", services, "web", "404 page not found", 0, true)
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "target", Name: "web", Labels: map[string]string{styrminv1.LabelDeploymentID: "other"},
	}}
	for name, tc := range map[string]struct {
		err        error
		wantReason string
		wantFailed bool
		wantText   string
	}{
		"O7: a foreign object": {
			newConflictError("Service", foreign), styrminv1.ReasonConflict, true,
			"Service target/web exists and belongs to deployment other; it is left untouched: remove it or choose another name",
		},
		"O9: an API that is not served": {
			&missingAPIError{kind: traefikGroups[0].WithKind(middlewareKind), product: traefik}, styrminv1.ReasonMissingAPI, true,
			"the cluster does not serve Middleware of traefik.io/v1alpha1: install Traefik's CustomResourceDefinitions",
		},
		"O9: an API that is not served any more": {
			unserved, styrminv1.ReasonMissingAPI, true, "the cluster does not serve an API any more: applying: " + unserved.Error(),
		},
		"a spec that the cluster cannot serve": {invalidSpec("no such secret"), styrminv1.ReasonInvalidSpec, true, "no such secret"},
		"an object that the API server refuses": {
			apierrors.NewBadRequest("bad port"), styrminv1.ReasonInvalidSpec, true, "applying: bad port",
		},
		"a quota or a missing permission": {
			apierrors.NewForbidden(services, "web", errors.New("exceeded quota")), styrminv1.ReasonForbidden, true,
			`applying: services "web" is forbidden: exceeded quota`,
		},
		"a namespace that began to go meanwhile": {terminating, styrminv1.ReasonProgressing, false, "applying: " + terminating.Error()},
		"an object of ours that is on its way out": {
			waitUntilGone("Service", foreign), styrminv1.ReasonProgressing, false, "waiting until Service target/web is gone, which is being deleted",
		},
		"an API server that is away":  {errors.New("connection refused"), "", false, ""},
		"an object that was replaced": {apierrors.NewConflict(services, "web", errors.New("newer")), "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Options{}.withDefaults().outcomeOf(fmt.Errorf("applying: %w", tc.err))
			if ok != (tc.wantReason != "") {
				t.Fatalf("translated: %v", ok)
			}
			if got.reason != tc.wantReason || got.failed != tc.wantFailed || got.message != tc.wantText {
				t.Errorf("outcome = %+v, want %s, failed %v: %q", got, tc.wantReason, tc.wantFailed, tc.wantText)
			}
			if ok && got.recheckAfter == 0 {
				t.Error("nothing looks again when the cause may have gone")
			}
		})
	}
}

// TestO9AFieldThatTheServedVersionLacks is no failure of the API server, as its
// answer says, but one that someone has to mend.
func TestO9AFieldThatTheServedVersionLacks(t *testing.T) {
	c := newClient(t, apiServer)
	for field, value := range map[string]any{"unheardOf": true, "interval": []any{}} {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{field: value}}}
		u.SetGroupVersionKind(fluxKinds[helmv2.HelmReleaseKind])
		u.SetNamespace(metav1.NamespaceDefault)
		u.SetName("undeclared")
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(styrminv1.FieldOwner))
		got, ok := Options{}.withDefaults().outcomeOf(err)
		if !ok || got.reason != styrminv1.ReasonInvalidSpec || !got.failed || !strings.Contains(got.message, ".spec."+field) {
			t.Errorf("%v: outcome = %+v, want one that names the field", err, got)
		}
	}
}

// TestO5AnErrorOfTheMomentDecidesNothing: the API server away for a moment neither
// takes back what is in place nor ends a failure, which would count as a new attempt.
func TestO5AnErrorOfTheMomentDecidesNothing(t *testing.T) {
	r := &reconciler{opts: Options{}.withDefaults()}
	away := apierrors.NewInternalError(errors.New("etcd has no leader"))
	for sentence, test := range map[string]struct {
		before outcome
		want   bool
	}{
		"it is under way": {progressing("waiting"), true},
		"it is done":      {done("ok"), false},
		"it has failed":   {failed(styrminv1.ReasonInvalidSpec, "no secret"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := newScope(&styrminv1.StyrminDeployment{}, noon)
			s.status = startStatus(s)
			setCondition(&s.status, noon, styrminv1.ConditionPrerequisitesReady, test.before)
			got, err := r.runPhase(s, styrminv1.ConditionPrerequisitesReady, func() (outcome, error) { return outcome{}, away })
			if !errors.Is(err, away) || (got != nil) != test.want {
				t.Errorf("outcome %+v, error %v; want an outcome: %t", got, err, test.want)
			}
		})
	}
}

// TestO3OneErrorLateInAReleaseIsNoFailure: Flux may be making progress, which only
// the HelmRelease would tell.
func TestO3OneErrorLateInAReleaseIsNoFailure(t *testing.T) {
	r := &reconciler{opts: Options{}.withDefaults()}
	work := func(after time.Duration, err error) *outcome {
		t.Helper()
		s := newScope(&styrminv1.StyrminDeployment{}, noon)
		s.status = startStatus(s)
		setCondition(&s.status, noon, styrminv1.ConditionHelmReleaseReady, progressing("Running 'install'"))
		s.now = noon.Add(after)
		out, _ := r.runPhase(s, styrminv1.ConditionHelmReleaseReady, func() (outcome, error) {
			return progressing("Running 'install'"), err
		})
		return out
	}
	away := apierrors.NewInternalError(errors.New("etcd has no leader"))
	for _, step := range []struct {
		after  time.Duration
		err    error
		failed bool
	}{
		{time.Hour, away, false},
		{time.Hour + time.Minute, nil, false},
		{2 * time.Hour, away, false},
		{2*time.Hour + 10*time.Minute, away, true},
	} {
		if out := work(step.after, step.err); out.failed != step.failed {
			t.Errorf("after %s: %+v, want a failure: %t", step.after, out, step.failed)
		}
	}
}

// TestO3ANewRolloutHasErrorsOfItsOwn: those of the rollout before do not shorten
// its time.
func TestO3ANewRolloutHasErrorsOfItsOwn(t *testing.T) {
	w := &wire{before: func(r request) error {
		if r.resource == "helmreleases" && r.isWrite() {
			return errText("the webhook says no")
		}
		return nil
	}}
	opts := fast()
	opts.ProgressGrace = time.Nanosecond
	startOperator(t, w.tapped(apiServer), opts, nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	d.Spec.HelmRelease.Timeout = &metav1.Duration{Duration: 3 * time.Second}
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	f.roll("i-2", func(*styrminv1.StyrminDeploymentSpec) {})
	got := f.waitFor("i-2", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	begun := apimeta.FindStatusCondition(got.Status.Conditions, styrminv1.ConditionPrerequisitesReady).LastTransitionTime
	failed := apimeta.FindStatusCondition(got.Status.Conditions, styrminv1.ConditionHelmReleaseReady).LastTransitionTime
	if took := failed.Sub(begun.Time); took < 2*time.Second {
		t.Errorf("the second rollout failed after %s", took)
	}
}

// TestErrorsAreTriedAgainBeforeLong: what was mended is not waited for longer than
// anything else that only time changes.
func TestErrorsAreTriedAgainBeforeLong(t *testing.T) {
	opts := Options{}.withDefaults()
	limiter, request := retryLimiter(opts), reconcile.Request{}
	first, last := limiter.When(request), time.Duration(0)
	for range 100 {
		last = limiter.When(request)
	}
	if first != firstRetry || last != opts.RecheckInterval {
		t.Errorf("it tries again after %s, and at last after %s", first, last)
	}
}

// TestO3DeadlineOfAPhase: waiting for too long is a failure until the phase moves.
func TestO3DeadlineOfAPhase(t *testing.T) {
	const limit = 6 * time.Minute
	waits := progressing("waiting for the namespace")
	late := failed(styrminv1.ReasonTimedOut, "no progress for longer than 6m0s: waiting for the namespace")
	set := func(o outcome, at time.Duration) func(*styrminv1.StyrminDeploymentStatus) {
		return func(s *styrminv1.StyrminDeploymentStatus) {
			setCondition(s, noon.Add(at), styrminv1.ConditionPrerequisitesReady, o)
		}
	}
	for name, tc := range map[string]struct {
		before func(*styrminv1.StyrminDeploymentStatus)
		after  time.Duration
		out    outcome
		want   outcome
	}{
		"it waits":                      {set(waits, 0), time.Minute, waits, waits.after(5*time.Minute + time.Second)},
		"it has waited too long":        {set(waits, 0), limit + time.Second, waits, late},
		"it still waits":                {set(late, 0), time.Hour, waits, late},
		"it moved":                      {set(late, 0), time.Hour, done("ok"), done("ok")},
		"it was done and waits again":   {set(done("ok"), 0), time.Hour, waits, waits.after(limit + time.Second)},
		"a failure of its own is as is": {set(waits, 0), time.Hour, failed("Conflict", "no"), failed("Conflict", "no")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(&styrminv1.StyrminDeployment{}, noon)
			s.status = startStatus(s)
			tc.before(&s.status)
			s.now = noon.Add(tc.after)
			got := s.withDeadline(tc.out, styrminv1.ConditionPrerequisitesReady, limit)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("outcome differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEarlierAndSoonest: zero is none.
func TestEarlierAndSoonest(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, want time.Duration }{
		"both":   {2, 1, 1},
		"first":  {1, 0, 1},
		"second": {0, 1, 1},
		"none":   {0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := soonest(tc.a, tc.b); got != tc.want {
				t.Errorf("soonest = %d, want %d", got, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct{ a, b, want time.Time }{
		"no earlier one": {time.Time{}, noon, noon},
		"an earlier one": {noon, noon.Add(-1), noon.Add(-1)},
		"a later one":    {noon, noon.Add(1), noon},
	} {
		t.Run(name, func(t *testing.T) {
			if got := earlier(tc.a, tc.b); !got.Equal(tc.want) {
				t.Errorf("earlier = %s, want %s", got, tc.want)
			}
		})
	}
}
