// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/internal/serverclient"
)

// lostAnswer lets a report be applied and loses the answer.
func lostAnswer(operation string) func(http.ResponseWriter, *modelRequest) bool {
	return func(w http.ResponseWriter, request *modelRequest) bool {
		if request.OperationName != operation {
			return false
		}
		w.WriteHeader(http.StatusGatewayTimeout)
		return true
	}
}

// TestP2TheServerFollowsThoughItsAnswersAreLost: a server whose answers do not
// arrive takes each report for current, so each has to bring it up to date.
func TestP2TheServerFollowsThoughItsAnswersAreLost(t *testing.T) {
	type told struct{ Message, Phase string }
	for _, operation := range []string{"ReportPodStatuses", "ReportDeploymentStatuses"} {
		t.Run(operation, func(t *testing.T) {
			h := newHarness(t)
			l := newLoop(h.reporter)
			for i, want := range []told{
				{"the first", "Ready"},
				{"a change", "Failed"},
				{"a change to that", "CreatingServices"},
				{"the first", "Ready"}, // again, whose answer came
			} {
				h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-0", withVersion(i+1), withMessage(want.Message))}
				h.deployments.objects = []*styrminv1.StyrminDeployment{testDeployment("shop", withPhase(styrminv1.Phase(want.Phase)))}
				if err := l.cycle(t.Context()); (err == nil) != (i == 0) {
					t.Fatalf("error = %v", err)
				}
				got := told{deref(h.server.storedPods()["prod-shop/uid-of-shop-0"].Message), h.server.deployments[0].Phase}
				if operation == "ReportPodStatuses" {
					got.Phase = want.Phase // The other half is not sent then.
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("what the server has (-want +got):\n%s", diff)
				}
				h.server.change(func() { h.server.after = lostAnswer(operation) })
			}
		})
	}
}

func TestP2OnlyARefusalThatSaysWhyHasChangedNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"too large":                 {&serverclient.Refusal{Code: codeTooLarge}, true},
		"the session is superseded": {&serverclient.Refusal{Code: codeSessionSuperseded}, true},
		"something went wrong":      {&serverclient.Refusal{Code: codeInternal}, false},
		"an error without a code":   {&serverclient.Refusal{}, false},
		"no answer":                 {errTest, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isUndone(tc.err); got != tc.want {
				t.Errorf("isUndone = %t, want %t", got, tc.want)
			}
		})
	}
}

// TestP2ASnapshotThatHasAgedIsNotSent: the process was stopped between reading
// and sending. To the server the report would be as young as when it was made.
func TestP2ASnapshotThatHasAgedIsNotSent(t *testing.T) {
	for name, tc := range map[string]struct {
		stopped time.Duration
		want    []string
	}{
		"it was not stopped for long": {maxSentAge, []string{"OpenReportSession", "ReportPodStatuses", "ReportDeploymentStatuses"}},
		"it was stopped for long":     {maxSentAge + time.Second, []string{"OpenReportSession"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			proven := h.fakeClock.Now()
			h.pods.proven = func() time.Time { return proven }
			h.deployments.proven = func() time.Time {
				h.fakeClock.Step(tc.stopped)
				return proven
			}
			mustCycle(t, newLoop(h.reporter))
			if diff := cmp.Diff(tc.want, operations(h.server.received())); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
		})
	}
}
