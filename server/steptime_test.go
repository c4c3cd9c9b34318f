// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"
)

func TestR3StepEnds(t *testing.T) {
	cases := map[string]struct {
		// transition is when the condition turned True, in seconds after noon by
		// the agent's clock; the step began at 0, the report came at 30.
		transition float64
		// sentAt is the agent's clock when the report was sent, at 30.
		sentAt float64
		want   time.Time
	}{
		"at its condition's transition":                                    {12, 30, at(12)},
		"at receipt when the transition is of a rollout before (case D02)": {-3 * 24 * 3600, 30, at(30)},
		"at receipt when the transition is in the future (case D06)":       {2 * 3600, 30, at(30)},
		"at its start when whole seconds hide that":                        {-0.5, 30, at(0)},
		"corrected when the agent's clock is behind (case D06)":            {12 - 420, 30 - 420, at(12)},
		"corrected when the agent's clock is ahead":                        {12 + 420, 30 + 420, at(12)},
		"at receipt when the correction leads out of the attempt":          {12, 30 + 420, at(30)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			task := w.claim()
			instance := w.flow(task)
			observed := reported(instance, "CreatingHelmRelease", "Deploying")
			observed.Conditions = allConditions(tc.transition)
			w.ApplyReport(observed, noPods, Receipt{At: at(30), SentAt: at(tc.sentAt), Complete: true})
			w.wantAttempts(task, stepPrerequisites, StepAttempt{Status: StepSucceeded, StartedAt: at(0), EndedAt: &tc.want})
			w.wantAttempts(task, stepHelmRelease, StepAttempt{Status: StepRunning, StartedAt: at(30)})
		})
	}
}

func TestR6SkippedStepsFollowEachOther(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.flow(task)
	observed := reported(instance, "Ready", "Deploying")
	observed.Conditions = allConditions(3, 9, 10, 17)
	w.pass(20)
	w.reportObject(observed)
	w.wantAttempts(task, stepPrerequisites, StepAttempt{Status: StepSucceeded, StartedAt: at(0), EndedAt: atPtr(3)})
	w.wantAttempts(task, stepHelmRelease, StepAttempt{Status: StepSucceeded, StartedAt: at(3), EndedAt: atPtr(9)})
	w.wantAttempts(task, stepServices, StepAttempt{Status: StepSucceeded, StartedAt: at(9), EndedAt: atPtr(10)})
	w.wantAttempts(task, stepReady, StepAttempt{Status: StepSucceeded, StartedAt: at(10), EndedAt: atPtr(17)})
}

func TestR6SkippedStepsWithoutConditionsEndAtReceipt(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.flow(task)
	w.pass(20)
	w.report(instance, "CreatingServices", "Deploying")
	w.wantAttempts(task, stepPrerequisites, StepAttempt{Status: StepSucceeded, StartedAt: at(0), EndedAt: atPtr(20)})
	w.wantAttempts(task, stepHelmRelease, StepAttempt{Status: StepSucceeded, StartedAt: at(20), EndedAt: atPtr(20)})
	w.wantAttempts(task, stepServices, StepAttempt{Status: StepRunning, StartedAt: at(20)})
}

// TestR3NoTimeGoesBack: the report came in before the deletion was recorded, which
// it had to wait for.
func TestR3NoTimeGoesBack(t *testing.T) {
	w, task := deleting(t)
	since := w.Deployment.StatusSince
	overtaken := Receipt{At: w.now.Add(-2 * time.Second), SentAt: w.now, Complete: true}
	blocked := reported("i", "Deleting", "Error")
	blocked.Message = ptr("the namespace is stuck")
	w.ApplyReport(blocked, noPods, overtaken)
	failed := StepAttempt{Status: StepFailed, StartedAt: at(5), EndedAt: atPtr(5), Error: blocked.Message}
	w.wantAttempts(task, stepRemove, failed)
	w.ApplyReport(reported("i", "Deleting", "Deleting"), noPods, overtaken)
	w.wantAttempts(task, stepRemove, failed, StepAttempt{Status: StepRunning, StartedAt: at(5)})
	w.ApplyReport(reported("i", "Deleted", "Deleted"), noPods, overtaken)
	w.wantAttempts(task, stepRemove, failed, StepAttempt{Status: StepSucceeded, StartedAt: at(5), EndedAt: atPtr(5)})
	if got := w.Deployment; got.Status != DeploymentDeleted || !got.StatusSince.Equal(since) {
		t.Errorf("%s since %s, want DELETED since %s", got.Status, got.StatusSince, since)
	}
}
