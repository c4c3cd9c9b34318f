// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// begin starts a new attempt of the step.
func (s *Step) begin(at time.Time) {
	s.Status = StepRunning
	s.Attempts = append(s.Attempts, StepAttempt{Number: len(s.Attempts) + 1, Status: StepRunning, StartedAt: at})
}

// end ends the newest attempt; the step has one.
func (s *Step) end(status StepStatus, at time.Time, reason *string) {
	s.Status = status
	attempt := s.last()
	attempt.Status, attempt.EndedAt, attempt.Error = status, &at, reason
}

// cancel ends a step that waits or runs; others stay as they are.
func (s *Step) cancel(at time.Time) {
	switch s.Status {
	case StepPending:
		s.Status = StepCancelled
	case StepRunning:
		s.end(StepCancelled, at, nil)
	}
}
