// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestR10LaterWriteSupersedes(t *testing.T) {
	rollout := func(t *testing.T) (*world, string, string) {
		w := running(t)
		task := w.request(scaleTo(4))
		instance := w.flow(w.claim())
		w.pass(5)
		w.report(instance, "CreatingHelmRelease", "Deploying")
		return w, task, instance
	}

	t.Run("a task with unfinished steps and no failure is superseded", func(t *testing.T) {
		w, first, instance := rollout(t)
		w.request(scaleTo(5))
		second := w.claim()
		w.pass(1)
		w.start(second, stepSpecWrite)
		w.wantResult(first, ResultRunning)
		recorded, err := w.RecordSpecWrite(second, testWorker, w.now)
		w.must(err)
		w.wantResult(first, ResultSuperseded)
		w.wantReason(first, "task "+first+" was superseded by a later task of the deployment")
		w.wantSteps(first, StepSucceeded, StepCancelled, StepCancelled, StepCancelled)
		w.wantAttempts(first, stepHelmRelease, StepAttempt{Status: StepCancelled, StartedAt: at(10), EndedAt: &w.now})
		w.wantSteps(second, StepRunning, StepPending, StepPending, StepPending)

		// Whatever is said of the earlier instance from now on moves nothing.
		before := w.Clone()
		for _, words := range [][2]string{{"Ready", "Running"}, {"Failed", "Error"}, {"CreatingServices", "Deploying"}} {
			w.report(instance, words[0], words[1])
			w.wantStatus(DeploymentDeploying)
		}
		if diff := cmp.Diff(before.Tasks, w.Tasks); diff != "" {
			t.Errorf("reports of the earlier instance changed (-before +after):\n%s", diff)
		}
		if w.Tasks.Find(second).RecordSequence != w.Tasks.Find(first).RecordSequence+1 || recorded.ID != *w.Deployment.WrittenInstanceID {
			t.Error("the order of the writes is lost")
		}
	})
	t.Run("a failed one keeps its failure (case D03)", func(t *testing.T) {
		w, first, instance := rollout(t)
		observed := reported(instance, "Failed", "Error")
		observed.Conditions, observed.Message = allConditions(7), ptr("no luck")
		w.reportObject(observed)
		w.request(scaleTo(5))
		second := w.claim()
		w.flow(second)
		w.report(instance, "Ready", "Running")
		w.wantResult(first, ResultFailed)
		w.wantReason(first, `step "Install or upgrade the HelmRelease" failed: no luck`)
		w.wantSteps(first, StepSucceeded, StepFailed, StepCancelled, StepCancelled)
		w.wantSteps(second, StepRunning, StepPending, StepPending, StepPending)
		w.wantStatus(DeploymentDeploying)

		w.report(*w.Tasks.Find(second).InstanceID, "CreatingPrerequisites", "Deploying")
		w.wantSteps(second, StepRunning, StepPending, StepPending, StepPending)
	})
	t.Run("just before the write reports still move it (case D03, variant)", func(t *testing.T) {
		w, first, instance := rollout(t)
		w.request(scaleTo(5))
		second := w.claim()
		w.start(second, stepSpecWrite)
		w.report(instance, "Ready", "Running")
		w.wantResult(first, ResultSucceeded)
		w.wantStatus(DeploymentRunning)
		w.write(second)
		w.wantResult(first, ResultSucceeded)
	})
	t.Run("a deletion request supersedes too", func(t *testing.T) {
		w, first, instance := rollout(t)
		w.request(deletion)
		second := w.claim()
		w.start(second, stepDeletionRequest)
		w.must(w.RecordDeletionRequest(second, testWorker, w.now))
		w.wantResult(first, ResultSuperseded)
		w.wantSteps(second, StepRunning)
		w.report(instance, "Failed", "Error")
		w.wantSteps(first, StepSucceeded, StepCancelled, StepCancelled, StepCancelled)
		w.wantSteps(second, StepRunning)
		w.wantStatus(DeploymentDeleting)
	})
	t.Run("a task's own hook tasks do not supersede it", func(t *testing.T) {
		w, upgrade := upgrading(t)
		w.report(w.flow(w.hook(upgrade, preHook)), "Ready", "Running")
		w.finish(upgrade, preHook)
		w.report(w.write(upgrade), "Ready", "Running")
		hook := w.hook(upgrade, postHook)
		w.flow(hook)
		if w.Tasks.Find(upgrade).Superseded {
			t.Error("the upgrade was superseded by its own hook")
		}
		// Another task supersedes both at once.
		w.Tasks.Find(upgrade).Status = TaskSuccess
		w.request(scaleTo(5))
		w.flow(w.claim())
		w.wantResult(hook, ResultSuperseded)
		w.wantResult(upgrade, ResultSuperseded)
		w.wantReason(upgrade, "task "+upgrade+" was superseded by a later task of the deployment")
	})
	t.Run("a failed flow's running step ends too", func(t *testing.T) {
		w := running(t)
		w.request(scaleTo(4))
		first := w.claim()
		w.write(first)
		w.end(first, TaskFailed)
		w.wantSteps(first, StepRunning, StepPending, StepPending, StepPending)
		w.request(scaleTo(5))
		w.flow(w.claim())
		w.wantSteps(first, StepCancelled, StepCancelled, StepCancelled, StepCancelled)
		w.wantResult(first, ResultFailed)
	})
	t.Run("tasks that wait are not superseded", func(t *testing.T) {
		w, _, _ := rollout(t)
		w.request(scaleTo(5))
		waiting := w.request(scaleTo(6))
		w.flow(w.claim())
		w.wantSteps(waiting, StepPending, StepPending, StepPending, StepPending)
		if got := w.claim(); got != waiting {
			t.Errorf("claimed %s, want %s", got, waiting)
		}
	})
	t.Run("the order of ids counts nothing", func(t *testing.T) {
		w, first, _ := rollout(t)
		second := w.request(scaleTo(5))
		w.Tasks.Find(second).ID, w.Tasks.Find(second).InstanceID = "aaa", ptr("aaa-instance")
		w.flow(w.claim())
		w.wantResult(first, ResultSuperseded)
		w.report("aaa-instance", "Ready", "Running")
		w.wantResult("aaa", ResultSucceeded)
	})
}
