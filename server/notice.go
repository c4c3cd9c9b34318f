// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// Notice tells that reports stay out while the operator works on the step
// (R12): the deployment's last complete report or, without any, the step's
// start is longer ago than timeout. Nil: nothing to tell.
func Notice(step *Step, lastReport *time.Time, now time.Time, timeout time.Duration) *string {
	if step.Kind != StepOperatorPhase || step.Status != StepRunning {
		return nil
	}
	since := lastReport
	if since == nil {
		since = step.StartedAt()
	}
	if since == nil || now.Sub(*since) <= timeout {
		return nil
	}
	notice := "No report from the agent since " + since.UTC().Format(time.RFC3339)
	return &notice
}
