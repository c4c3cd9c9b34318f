// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestR9Absence(t *testing.T) {
	type outcome struct {
		Status  DeploymentStatusName
		Message *string
		Missing bool
	}
	cases := map[string]struct {
		deployment Deployment
		want       outcome
	}{
		"without a deletion request a deployment of the server has failed (cases F01, variant, and H05)": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentRunning, WrittenInstanceID: ptr("i-1"), WrittenAt: atPtr(1), LastReportAt: atPtr(5)},
			outcome{DeploymentFailed, ptr("not found in the cluster"), true},
		},
		"without a deletion request an adopted one is deleted": {
			Deployment{ManagedBy: DeploymentManagerCluster, Status: DeploymentRunning, LastReportAt: atPtr(5)},
			outcome{DeploymentDeleted, nil, true},
		},
		"after a deletion request it is deleted (case F01)": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentDeleting, WrittenAt: atPtr(1), LastReportAt: atPtr(5), DeletionRequestedAt: atPtr(6)},
			outcome{DeploymentDeleted, nil, false},
		},
		"after a deletion request it is deleted though it was never reported": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentDeleting, WrittenAt: atPtr(1), DeletionRequestedAt: atPtr(6)},
			outcome{DeploymentDeleted, nil, false},
		},
		"what was seen before the deletion request does not count as deleted": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentDeleting, WrittenAt: atPtr(1), DeletionRequestedAt: atPtr(9)},
			outcome{DeploymentDeleting, nil, false},
		},
		"one that was never reported is not missing yet": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentDeploying, WrittenAt: atPtr(1)},
			outcome{DeploymentDeploying, nil, false},
		},
		"one that was not reported since its newest write is not missing yet": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentDeploying, WrittenAt: atPtr(6), LastReportAt: atPtr(5)},
			outcome{DeploymentDeploying, nil, false},
		},
		"one whose first task has not come that far stays pending": {
			Deployment{ManagedBy: DeploymentManagerServer, Status: DeploymentPending},
			outcome{DeploymentPending, nil, false},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state := &State{Deployment: tc.deployment, Observed: ptr(reported("i-1", "Ready", "Running"))}
			state.ApplyAbsence(at(10), at(9))
			got := outcome{state.Deployment.Status, state.Deployment.StatusMessage, state.Deployment.Missing}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("deployment (-want +got):\n%s", diff)
			}
			if state.Observed != nil {
				t.Error("the row is still there")
			}
		})
	}
}

func TestR9ReportEndsTheAbsence(t *testing.T) {
	state := &State{Deployment: Deployment{ManagedBy: DeploymentManagerServer, WrittenInstanceID: ptr("i-1"), WrittenAt: atPtr(1), LastReportAt: atPtr(5)}}
	state.ApplyAbsence(at(10), at(10))
	state.ApplyReport(reported("i-1", "Ready", "Running"), noPods, complete(15))
	if state.Deployment.Missing || state.Deployment.Status != DeploymentRunning {
		t.Errorf("missing %t, status %s; want the object to be back", state.Deployment.Missing, state.Deployment.Status)
	}
}

func TestR9ADeploymentOfTheServerIsNeverDeletedUnasked(t *testing.T) {
	w := running(t)
	instance := *w.Deployment.WrittenInstanceID
	w.pass(5)
	w.report(instance, "Deleting", "Deleting")
	w.wantStatus(DeploymentDeleting)
	w.pass(5)
	w.report(instance, "Deleted", "Deleted")
	w.wantStatus(DeploymentDeleting)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantStatus(DeploymentFailed)
}

func TestR9AbsenceInARolloutFailsItsStep(t *testing.T) {
	w := running(t)
	w.pass(5)
	task := w.request(scaleTo(5))
	w.claim()
	instance := w.flow(task)
	w.pass(5)
	w.report(instance, "CreatingHelmRelease", "Deploying")
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantSteps(task, StepSucceeded, StepFailed, StepPending, StepPending)
	w.wantReason(task, `step "Install or upgrade the HelmRelease" failed: not found in the cluster`)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	if attempts := w.step(task, stepHelmRelease).Attempts; len(attempts) != 1 {
		t.Errorf("a second absence made an attempt: %v", attempts)
	}
	w.pass(5)
	w.report(instance, "Ready", "Running")
	w.wantResult(task, ResultSucceeded)
	w.wantStatus(DeploymentRunning)
}

// TestR9AnAbsenceWhileTheObjectIsWrittenSaysNothing: the worker waits until the
// object before it, which someone deleted with kubectl, has gone.
func TestR9AnAbsenceWhileTheObjectIsWrittenSaysNothing(t *testing.T) {
	w := running(t)
	old := *w.Deployment.WrittenInstanceID
	w.pass(5)
	w.report(old, "Deleting", "Deleting")
	task := w.request(scaleTo(5))
	w.claim()
	w.start(task, stepSpecWrite)
	instance, err := w.RecordSpecWrite(task, testWorker, w.now)
	w.must(err)
	w.pass(5)
	w.report(old, "Deleting", "Deleting")
	before := w.now
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantResult(task, ResultRunning)
	w.finish(task, stepSpecWrite)
	w.end(task, TaskSuccess)
	w.ApplyAbsence(w.now, before)
	w.wantResult(task, ResultRunning)
	w.pass(5)
	w.report(instance.ID, "Ready", "Running")
	w.wantResult(task, ResultSucceeded)
	w.wantStatus(DeploymentRunning)
}

// TestR9AnObjectThatIsGoneOnceItIsWrittenIsMissing though nothing reported it since
// then but the object before it.
func TestR9AnObjectThatIsGoneOnceItIsWrittenIsMissing(t *testing.T) {
	w := running(t)
	old := *w.Deployment.WrittenInstanceID
	w.pass(5)
	task := w.request(scaleTo(5))
	w.claim()
	w.start(task, stepSpecWrite)
	_, err := w.RecordSpecWrite(task, testWorker, w.now)
	w.must(err)
	w.pass(5)
	w.report(old, "Ready", "Running")
	w.finish(task, stepSpecWrite)
	w.end(task, TaskSuccess)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantResult(task, ResultFailed)
	w.wantStatus(DeploymentFailed)
}
