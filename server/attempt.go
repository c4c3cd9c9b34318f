// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// maxAttempts bounds what is kept of a step that fails and runs again for ever:
// the last attempt then stands for all later ones.
const maxAttempts = 100

// begin starts a new attempt of the step (R8). Reports and calls are applied in
// another order than they came in, so at may lie before the end of the attempt
// before it, which it then follows at once.
func (s *Step) begin(at time.Time) {
	if ended := s.EndedAt(); ended != nil && at.Before(*ended) {
		at = *ended
	}
	s.Status = StepRunning
	attempt := StepAttempt{Number: len(s.Attempts) + 1, Status: StepRunning, StartedAt: at}
	if len(s.Attempts) == maxAttempts {
		attempt.Number = maxAttempts
		*s.last() = attempt
		return
	}
	s.Attempts = append(s.Attempts, attempt)
}

// end ends the newest attempt; the step has one. No attempt ends before it began
// (R3).
func (s *Step) end(status StepStatus, at time.Time, reason *string) {
	s.Status = status
	attempt := s.last()
	if at.Before(attempt.StartedAt) {
		at = attempt.StartedAt
	}
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
