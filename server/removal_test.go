// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deleting is a deployment whose deletion was recorded five seconds after noon.
func deleting(t *testing.T) (*world, string) {
	t.Helper()
	w := running(t)
	task := w.request(deletion)
	w.claim()
	w.start(task, stepDeletionRequest)
	w.must(w.RecordDeletionRequest(task, testWorker, w.now))
	w.finish(task, stepDeletionRequest)
	w.end(task, TaskSuccess)
	return w, task
}

func TestR9RemovalStep(t *testing.T) {
	began := StepAttempt{Status: StepRunning, StartedAt: at(5)}
	blocked := reported("i", "Deleting", "Error")
	blocked.Message = ptr("the namespace is stuck")
	failed := StepAttempt{Status: StepFailed, StartedAt: at(5), EndedAt: atPtr(10), Error: blocked.Message}

	t.Run("runs from the request on, before any report", func(t *testing.T) {
		w, task := deleting(t)
		w.wantAttempts(task, stepRemove, began)
		w.wantResult(task, ResultRunning)
	})
	t.Run("runs on through Deleting, whatever instance that names", func(t *testing.T) {
		w, task := deleting(t)
		w.pass(5)
		w.report("unheard-of", "Deleting", "Deleting")
		w.wantAttempts(task, stepRemove, began)
	})
	t.Run("is not moved by other phases", func(t *testing.T) {
		w, task := deleting(t)
		w.report(*w.Deployment.WrittenInstanceID, "Failed", "Error")
		w.report(*w.Deployment.WrittenInstanceID, "Ready", "Running")
		w.wantAttempts(task, stepRemove, began)
	})
	t.Run("succeeds at Deleted", func(t *testing.T) {
		w, task := deleting(t)
		w.pass(5)
		w.report("unheard-of", "Deleted", "Deleted")
		w.wantAttempts(task, stepRemove, StepAttempt{Status: StepSucceeded, StartedAt: at(5), EndedAt: atPtr(10)})
		w.wantResult(task, ResultSucceeded)
		w.report("unheard-of", "Deleting", "Error")
		w.wantResult(task, ResultSucceeded)
	})
	t.Run("succeeds when the object is absent (case F01)", func(t *testing.T) {
		w, task := deleting(t)
		w.pass(5)
		w.ApplyAbsence(w.now, w.now)
		w.wantAttempts(task, stepRemove, StepAttempt{Status: StepSucceeded, StartedAt: at(5), EndedAt: atPtr(10)})
		w.wantStatus(DeploymentDeleted)
		before := w.Clone()
		w.pass(5)
		w.ApplyAbsence(w.now, w.now)
		if diff := cmp.Diff(before, w.State); diff != "" {
			t.Errorf("a second absence changed (-before +after):\n%s", diff)
		}
	})
	t.Run("fails with the object's message, without pods, and runs again (case F03)", func(t *testing.T) {
		w, task := deleting(t)
		w.pods = []PodStatus{podOf("s-1", "a", 0, terminated("app", "Error", 1))}
		w.pass(5)
		w.reportObject(blocked)
		w.wantAttempts(task, stepRemove, failed)
		w.wantReason(task, `step "Remove the deployment's resources and namespace" failed: the namespace is stuck`)
		w.wantStatus(DeploymentDeleting)
		w.pass(5)
		w.report("i", "Deleting", "Deleting")
		w.wantAttempts(task, stepRemove, failed, StepAttempt{Status: StepRunning, StartedAt: at(15)})
		w.wantResult(task, ResultRunning)
	})
	t.Run("succeeds after a failure when the object is absent", func(t *testing.T) {
		w, task := deleting(t)
		w.pass(5)
		w.reportObject(blocked)
		w.pass(5)
		w.ApplyAbsence(w.now, w.now)
		w.wantAttempts(task, stepRemove, failed, StepAttempt{Status: StepSucceeded, StartedAt: at(15), EndedAt: atPtr(15)})
	})
	t.Run("is that of the newest deletion", func(t *testing.T) {
		w, first := deleting(t)
		w.pass(5)
		w.reportObject(blocked)
		second := w.request(deletion)
		if second == first {
			t.Fatal("the failed deletion was returned")
		}
		w.claim()
		w.start(second, stepDeletionRequest)
		w.must(w.RecordDeletionRequest(second, testWorker, w.now))
		if !w.Deployment.DeletionRequestedAt.Equal(at(5)) {
			t.Errorf("deletion requested at %s, want the first request's time", w.Deployment.DeletionRequestedAt)
		}
		w.report("i", "Deleted", "Deleted")
		w.wantAttempts(first, stepRemove, failed)
		w.wantSteps(second, StepSucceeded)
	})
	t.Run("waits for its request though the object goes by another hand", func(t *testing.T) {
		w := running(t)
		task := w.request(deletion)
		w.pass(5)
		w.report(*w.Deployment.WrittenInstanceID, "Deleting", "Deleting")
		w.wantStatus(DeploymentDeleting)
		w.wantSteps(task, StepPending)
		w.ApplyAbsence(w.now, w.now)
		w.wantStatus(DeploymentFailed)
		w.claim()
		w.start(task, stepDeletionRequest)
		w.must(w.RecordDeletionRequest(task, testWorker, w.now))
		w.pass(5)
		w.ApplyAbsence(w.now, w.now)
		w.wantSteps(task, StepSucceeded)
		w.wantStatus(DeploymentDeleted)
	})
	t.Run("moves no rollout's steps", func(t *testing.T) {
		w := newWorld(t)
		task := w.claim()
		instance := w.write(task)
		w.report(instance, "Deleting", "Deleting")
		w.report(instance, "Deleted", "Deleted")
		w.wantSteps(task, StepRunning, StepPending, StepPending, StepPending)
	})
}

func TestR9MissingUntilItIsReportedAfterItsWrite(t *testing.T) {
	w := running(t)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantStatus(DeploymentFailed)
	w.request(scaleTo(4))
	instance := w.flow(w.claim())
	w.wantStatus(DeploymentDeploying)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantStatus(DeploymentDeploying)
	w.pass(5)
	w.report(instance, "Ready", "Running")
	w.wantStatus(DeploymentRunning)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantStatus(DeploymentFailed)
	if got := *w.Deployment.StatusMessage; got != "not found in the cluster" {
		t.Errorf("message is %q", got)
	}
}
