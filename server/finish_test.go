// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "testing"

// A flow that fails after its write was recorded may leave the cluster with
// what was there before, and reports of that set no status any more (R5).
func TestR5FailedFlowThatNeverReachedTheCluster(t *testing.T) {
	record := func(w *world, task string) {
		w.start(task, stepSpecWrite)
		_, err := w.RecordSpecWrite(task, testWorker, w.now)
		w.must(err)
	}
	cases := map[string]struct {
		world   func(t *testing.T) *world
		change  *Change
		run     func(w *world, task string)
		want    DeploymentStatusName
		message string
	}{
		"a creation that was not recorded has failed": {
			newWorld, nil, func(*world, string) {},
			DeploymentFailed, `task id-001 failed: no reason was given`,
		},
		"a creation that was refused has failed": {
			newWorld, nil, func(w *world, task string) { record(w, task); w.fail(task, stepSpecWrite, "refused") },
			DeploymentFailed, `step "Write the StyrminDeployment" failed: refused`,
		},
		"an update that was not recorded leaves the status": {
			running, ptr(scaleTo(4)), func(*world, string) {},
			DeploymentRunning, "",
		},
		"an update that was refused has failed": {
			running, ptr(scaleTo(4)), func(w *world, task string) { record(w, task); w.fail(task, stepSpecWrite, "refused") },
			DeploymentFailed, `step "Write the StyrminDeployment" failed: refused`,
		},
		"an update that the cluster shows leaves the status to reports": {
			running, ptr(scaleTo(4)), func(w *world, task string) {
				record(w, task)
				w.report(*w.Tasks.Find(task).InstanceID, "CreatingServices", "Deploying")
			},
			DeploymentDeploying, "",
		},
		"a deletion that was refused has failed": {
			running, ptr(deletion), func(w *world, task string) {
				w.start(task, stepDeletionRequest)
				w.must(w.RecordDeletionRequest(task, testWorker, w.now))
				w.fail(task, stepDeletionRequest, "refused")
			},
			DeploymentFailed, `step "Request the deletion" failed: refused`,
		},
		"a deletion that the cluster shows leaves the status to reports": {
			running, ptr(deletion), func(w *world, task string) {
				w.start(task, stepDeletionRequest)
				w.must(w.RecordDeletionRequest(task, testWorker, w.now))
				observed := reported("x", "Deleting", "Deleting")
				observed.DeletionRequestedAt = &w.now
				w.reportObject(observed)
			},
			DeploymentDeleting, "",
		},
		"a deletion that the cluster has carried out leaves the status to reports": {
			running, ptr(deletion), func(w *world, task string) {
				w.start(task, stepDeletionRequest)
				w.must(w.RecordDeletionRequest(task, testWorker, w.now))
				w.report("x", "Deleted", "Deleted")
			},
			DeploymentDeleted, "",
		},
		"a deletion of what is gone already is left to the next report": {
			running, ptr(deletion), func(w *world, task string) {
				w.start(task, stepDeletionRequest)
				w.must(w.RecordDeletionRequest(task, testWorker, w.now))
				w.Observed = nil
			},
			DeploymentDeleting, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := tc.world(t)
			if tc.change != nil {
				w.request(*tc.change)
			}
			task := w.claim()
			tc.run(w, task)
			w.end(task, TaskFailed)
			w.wantStatus(tc.want)
			if got := optionalText(w.Deployment.StatusMessage); got != tc.message {
				t.Errorf("message is %q, want %q", got, tc.message)
			}
		})
	}
}

func TestR5FailedUpgradeAfterItsPostHookLeavesTheStatusToReports(t *testing.T) {
	w, upgrade := upgrading(t)
	w.report(w.flow(w.hook(upgrade, preHook)), "Ready", "Running")
	w.finish(upgrade, preHook)
	w.report(w.write(upgrade), "Ready", "Running")
	started := w.flow(w.hook(upgrade, postHook))
	w.report(started, "CreatingServices", "Deploying")
	w.end(upgrade, TaskFailed)
	w.wantStatus(DeploymentDeploying)
	w.report(started, "Ready", "Running")
	w.wantStatus(DeploymentRunning)
}

func TestR5SuccessfulFlowWithAFailedStepIsAFailure(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	w.start(task, stepSpecWrite)
	w.fail(task, stepSpecWrite, "refused")
	w.end(task, TaskSuccess)
	w.wantResult(task, ResultFailed)
	w.wantStatus(DeploymentFailed)
}

// TestR11WhatWasRefusedLeavesNoStepRunning: nobody works on it, and it would seem
// stuck for ever.
func TestR11WhatWasRefusedLeavesNoStepRunning(t *testing.T) {
	for name, tc := range map[string]struct {
		change Change
		step   string
		record func(w *world, task string) error
		want   []StepStatus
	}{
		"an update": {scaleTo(4), stepSpecWrite, func(w *world, task string) error {
			_, err := w.RecordSpecWrite(task, testWorker, w.now)
			return err
		}, []StepStatus{StepFailed, StepPending, StepPending, StepPending}},
		"a deletion": {deletion, stepDeletionRequest, func(w *world, task string) error {
			return w.RecordDeletionRequest(task, testWorker, w.now)
		}, []StepStatus{StepFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			w := running(t)
			task := w.request(tc.change)
			w.claim()
			w.start(task, tc.step)
			w.must(tc.record(w, task))
			w.fail(task, tc.step, "refused")
			w.end(task, TaskFailed)
			w.wantSteps(task, tc.want...)
			w.wantReason(task, `step "`+tc.step+`" failed: refused`)
			w.wantStatus(DeploymentFailed)
		})
	}
	t.Run("and a report begins it again", func(t *testing.T) {
		w := running(t)
		task := w.request(scaleTo(4))
		w.claim()
		w.start(task, stepSpecWrite)
		instance, err := w.RecordSpecWrite(task, testWorker, w.now)
		w.must(err)
		w.fail(task, stepSpecWrite, "no answer")
		w.end(task, TaskFailed)
		w.pass(5)
		w.report(instance.ID, "CreatingHelmRelease", "Deploying")
		w.wantSteps(task, StepSucceeded, StepRunning, StepPending, StepPending)
	})
}
