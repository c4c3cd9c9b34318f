// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "testing"

func TestR10DeletionOfWhatWasNeverWritten(t *testing.T) {
	deleted := func(t *testing.T, w *world, create string) {
		t.Helper()
		removal := w.request(deletion)
		w.wantStatus(DeploymentDeleted)
		w.wantResult(removal, ResultSucceeded)
		w.wantResult(create, ResultSuperseded)
		w.wantReason(create, "task "+create+" was superseded by a later task of the deployment")
		w.wantSteps(create, StepCancelled, StepCancelled, StepCancelled, StepCancelled)
		if _, task, err := Claim([]*State{w.State}, testWorker, testLease, w.now); task != nil || err != nil {
			t.Errorf("a worker gets %v, %v", task, err)
		}
		_, err := w.RequestChange(deletion, w.now, w.newID)
		wantCode(t, err, CodeConflict, "")
	}
	t.Run("is done at once while its creation waits", func(t *testing.T) {
		w := newWorld(t)
		deleted(t, w, w.Tasks[0].ID)
	})
	t.Run("ends the flow of a lost worker, which cannot write any more", func(t *testing.T) {
		w := newWorld(t)
		create := w.claim()
		w.start(create, stepSpecWrite)
		w.pass(testLease)
		deleted(t, w, create)
		_, err := w.RecordSpecWrite(create, testWorker, w.now)
		wantCode(t, err, CodeConflict, "")
	})
	t.Run("is done at once after its creation has failed", func(t *testing.T) {
		w := newWorld(t)
		create := w.claim()
		w.end(create, TaskFailed)
		w.request(deletion)
		w.wantStatus(DeploymentDeleted)
		w.wantResult(create, ResultFailed)
	})
	t.Run("takes an earlier deletion with it that waits", func(t *testing.T) {
		w := newWorld(t)
		create := w.claim()
		first := w.request(deletion)
		w.wantResult(first, ResultRunning)
		w.pass(testLease)
		deleted(t, w, create)
		w.wantResult(first, ResultSuperseded)
	})
	t.Run("waits for the worker that is about to write", func(t *testing.T) {
		w := newWorld(t)
		create := w.claim()
		removal := w.request(deletion)
		w.wantResult(removal, ResultRunning)
		w.wantStatus(DeploymentPending)
		w.flow(create)
		if next := w.claim(); next != removal {
			t.Errorf("claimed %s, want %s", next, removal)
		}
	})
	t.Run("goes on as it was begun once it was requested of the cluster", func(t *testing.T) {
		w := newWorld(t)
		create := w.claim()
		removal := w.request(deletion)
		w.end(create, TaskFailed)
		w.claim()
		w.start(removal, stepDeletionRequest)
		w.must(w.RecordDeletionRequest(removal, testWorker, w.now))
		w.finish(removal, stepDeletionRequest)
		w.end(removal, TaskSuccess)
		if again := w.request(deletion); again != removal {
			t.Errorf("another deletion %s was made", again)
		}
	})
	t.Run("waits for a worker once something was written", func(t *testing.T) {
		w := newWorld(t)
		w.write(w.claim())
		w.request(deletion)
		w.wantStatus(DeploymentDeploying)
	})
}
