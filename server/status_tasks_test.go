// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "testing"

func TestR5RunningOnlyAfterTheTask(t *testing.T) {
	t.Run("the first report after the flow has ended sets it", func(t *testing.T) {
		w := newWorld(t)
		task := w.claim()
		instance := w.write(task)
		w.wantStatus(DeploymentDeploying)
		w.report(instance, "Ready", "Running")
		w.wantStatus(DeploymentDeploying)
		w.end(task, TaskSuccess)
		w.wantStatus(DeploymentDeploying)
		w.report(instance, "Ready", "Running")
		w.wantStatus(DeploymentRunning)
	})
	t.Run("a flow that failed has ended too", func(t *testing.T) {
		w := newWorld(t)
		task := w.claim()
		instance := w.write(task)
		w.end(task, TaskFailed)
		w.report(instance, "Ready", "Running")
		w.wantStatus(DeploymentRunning)
	})
	t.Run("an error that went away while the flow runs is no longer one", func(t *testing.T) {
		w := newWorld(t)
		instance := w.write(w.claim())
		w.report(instance, "CreatingServices", "Error")
		w.wantStatus(DeploymentFailed)
		w.report(instance, "Ready", "Running")
		w.wantStatus(DeploymentDeploying)
	})
	t.Run("a hook's instance waits for the upgrade (case D03, variant)", func(t *testing.T) {
		w, upgrade := upgrading(t)
		hook := w.hook(upgrade, preHook)
		stopped := w.flow(hook)
		w.report(stopped, "Ready", "Running")
		w.wantResult(hook, ResultSucceeded)
		w.wantStatus(DeploymentDeploying)
		w.finish(upgrade, preHook)
		upgraded := w.write(upgrade)
		w.report(upgraded, "Ready", "Running")
		w.wantStatus(DeploymentDeploying)
		started := w.flow(w.hook(upgrade, postHook))
		w.report(started, "Ready", "Running")
		w.wantStatus(DeploymentDeploying)
		w.finish(upgrade, postHook)
		w.end(upgrade, TaskSuccess)
		w.wantResult(upgrade, ResultSucceeded)
		w.report(upgraded, "Ready", "Running")
		w.wantStatus(DeploymentDeploying)
		w.report(started, "Ready", "Running")
		w.wantStatus(DeploymentRunning)
	})
	t.Run("a job that runs does not hold it", func(t *testing.T) {
		w := running(t)
		w.request(runMigrate)
		w.claim()
		w.report(*w.Deployment.WrittenInstanceID, "Ready", "Error")
		w.wantStatus(DeploymentFailed)
		w.report(*w.Deployment.WrittenInstanceID, "Ready", "Running")
		w.wantStatus(DeploymentRunning)
	})
	t.Run("an instance whose task is gone needs none", func(t *testing.T) {
		w := running(t)
		w.Tasks = nil
		w.report(*w.Deployment.WrittenInstanceID, "Ready", "Error")
		w.report(*w.Deployment.WrittenInstanceID, "Ready", "Running")
		w.wantStatus(DeploymentRunning)
	})
}

// Case D01, variant: the object still shows the rollout before.
func TestR5EarlierInstancesSetNoStatus(t *testing.T) {
	w := running(t)
	earlier := *w.Deployment.WrittenInstanceID
	w.request(scaleTo(4))
	w.flow(w.claim())
	for _, words := range [][2]string{{"Ready", "Running"}, {"Failed", "Error"}, {"Deleting", "Deleting"}, {"Deleted", "Deleted"}, {"", ""}} {
		w.report(earlier, words[0], words[1])
		w.wantStatus(DeploymentDeploying)
		w.report("unheard-of", words[0], words[1])
		w.wantStatus(DeploymentDeploying)
	}
}

func TestR5AfterADeletionRequestOnlyDeletingAndDeletedCount(t *testing.T) {
	w := running(t)
	instance := *w.Deployment.WrittenInstanceID
	task := w.request(deletion)
	w.claim()
	w.start(task, stepDeletionRequest)
	w.must(w.RecordDeletionRequest(task, testWorker, w.now))
	w.wantStatus(DeploymentDeleting)
	for _, words := range [][2]string{{"Ready", "Running"}, {"Ready", "Error"}, {"CreatingServices", "Deploying"}, {"Deleting", "Error"}} {
		w.report(instance, words[0], words[1])
		w.wantStatus(DeploymentDeleting)
	}
	w.report("i-0", "Deleting", "Deleting")
	w.wantStatus(DeploymentDeleting)
	w.report("i-0", "Deleted", "Deleted")
	w.wantStatus(DeploymentDeleted)
}
