// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"
)

// TestStory is the product's page told on one deployment: an upgrade with stop
// and start hooks, a failing image, its mending, a superseded rollout, silence
// of the agent, and the deletion.
func TestStory(t *testing.T) {
	w := newWorld(t)

	// A new deployment is rolled out. The operator's work shows as steps.
	create := w.claim()
	first := w.flow(create)
	w.wantStatus(DeploymentDeploying)
	for _, phase := range []string{"CreatingPrerequisites", "CreatingHelmRelease", "CreatingServices"} {
		w.pass(5)
		w.report(first, phase, "Deploying")
		w.wantStatus(DeploymentDeploying)
		w.wantResult(create, ResultRunning)
	}
	w.pass(5)
	w.report(first, "Ready", "Running")
	w.wantStatus(DeploymentRunning)
	w.wantResult(create, ResultSucceeded)

	// The upgrade stops the server first. That rollout is complete and Running,
	// and the deployment is not: the upgrade goes on.
	upgrade := w.request(upgradeTo("2.5.0"))
	w.wantStatus(DeploymentRunning)
	w.claim()
	stop := w.hook(upgrade, preHook)
	w.wantStatus(DeploymentRunning)
	stopped := w.flow(stop)
	w.pass(5)
	w.report(stopped, "Ready", "Running")
	w.wantResult(stop, ResultSucceeded)
	w.wantResult(upgrade, ResultRunning)
	w.wantStatus(DeploymentDeploying)
	w.finish(upgrade, preHook)

	// The upgrade's own write. The object still shows the stop for a moment.
	upgraded := w.write(upgrade)
	w.report(stopped, "Ready", "Running")
	w.wantSteps(upgrade, StepRunning, StepPending, StepPending, StepPending)
	w.wantStatus(DeploymentDeploying)
	w.pass(5)
	w.report(upgraded, "Ready", "Running")
	w.wantStatus(DeploymentDeploying)

	// The start, and the end of the upgrade: now it is RUNNING.
	start := w.hook(upgrade, postHook)
	started := w.flow(start)
	w.pass(5)
	w.report(started, "Ready", "Running")
	w.wantStatus(DeploymentDeploying)
	w.finish(upgrade, postHook)
	w.end(upgrade, TaskSuccess)
	w.wantResult(upgrade, ResultSucceeded)
	w.pass(5)
	w.report(started, "Ready", "Running")
	w.wantStatus(DeploymentRunning)

	// A wrong image. The step fails and names the pods.
	broken := w.request(scaleTo(4))
	w.claim()
	brokenInstance := w.flow(broken)
	w.pods = []PodStatus{podOf("shop-2", "server-1", 60, waiting("app", "ImagePullBackOff", "no tag v9"))}
	w.pass(5)
	failed := reported(brokenInstance, "Failed", "Error")
	failed.Conditions, failed.Message = allConditions(21), ptr("Helm upgrade failed: timed out")
	w.reportObject(failed)
	w.wantStatus(DeploymentFailed)
	w.wantResult(broken, ResultFailed)
	w.wantReason(broken, `step "Install or upgrade the HelmRelease" failed: `+
		`Helm upgrade failed: timed out; pod server-1: container app ImagePullBackOff (no tag v9)`)

	// The image is pushed after all: Flux tries again, the step too.
	w.pods = nil
	w.pass(5)
	w.report(brokenInstance, "CreatingHelmRelease", "Deploying")
	w.wantResult(broken, ResultRunning)
	w.wantStatus(DeploymentDeploying)
	w.pass(5)
	w.report(brokenInstance, "Ready", "Running")
	w.wantResult(broken, ResultSucceeded)
	w.wantStatus(DeploymentRunning)

	// A second change comes in the middle of a first one.
	slow := w.request(scaleTo(5))
	w.claim()
	slowInstance := w.flow(slow)
	w.report(slowInstance, "CreatingHelmRelease", "Deploying")
	quick := w.request(scaleTo(6))
	w.claim()
	quickInstance := w.flow(quick)
	w.wantResult(slow, ResultSuperseded)
	w.wantReason(slow, "task "+slow+" was superseded by a later task of the deployment")
	w.report(slowInstance, "Ready", "Running")
	w.wantStatus(DeploymentDeploying)

	// The agent falls silent, and speaks again.
	silentSince := w.now
	notice := func() string {
		return optionalText(Notice(w.step(quick, stepPrerequisites), w.Deployment.LastReportAt, w.now, time.Minute))
	}
	w.pass(60)
	if got := notice(); got != "" {
		t.Errorf("notice %q after a minute", got)
	}
	w.pass(1)
	if got, want := notice(), "No report from the agent since "+silentSince.Format(time.RFC3339); got != want {
		t.Errorf("notice %q, want %q", got, want)
	}
	w.report(quickInstance, "CreatingPrerequisites", "Deploying")
	if got := notice(); got != "" {
		t.Errorf("notice %q after a report", got)
	}
	w.report(quickInstance, "Ready", "Running")
	w.wantStatus(DeploymentRunning)
	w.wantResult(quick, ResultSucceeded)

	// The deletion, whose end no report shows: the object is gone before.
	removal := w.request(deletion)
	w.claim()
	w.start(removal, stepDeletionRequest)
	w.must(w.RecordDeletionRequest(removal, testWorker, w.now))
	w.finish(removal, stepDeletionRequest)
	w.end(removal, TaskSuccess)
	w.report(quickInstance, "Ready", "Running")
	w.wantStatus(DeploymentDeleting)
	w.pass(5)
	w.report(quickInstance, "Deleting", "Deleting")
	w.wantResult(removal, ResultRunning)
	w.pass(5)
	w.ApplyAbsence(w.now, w.now)
	w.wantStatus(DeploymentDeleted)
	w.wantResult(removal, ResultSucceeded)
	if w.Observed != nil {
		t.Error("the row is still there")
	}
}
