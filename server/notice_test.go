// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"
)

func TestR12Notice(t *testing.T) {
	const timeout = time.Minute
	runningStep := Step{Kind: StepOperatorPhase, Status: StepRunning, Attempts: []StepAttempt{{Number: 1, Status: StepRunning, StartedAt: at(0)}}}
	with := func(edit func(*Step)) Step {
		step := runningStep
		edit(&step)
		return step
	}
	cases := map[string]struct {
		step       Step
		lastReport *time.Time
		now        time.Time
		want       string
	}{
		"none at sixty seconds":                     {runningStep, atPtr(10), at(70), ""},
		"the last report's time after that":         {runningStep, atPtr(10), at(70.001), "No report from the agent since 2026-11-29T12:00:10Z"},
		"the step's start where there is no report": {runningStep, nil, at(61), "No report from the agent since 2026-11-29T12:00:00Z"},
		"none soon after the step's start":          {runningStep, nil, at(60), ""},
		"a report before the step counts":           {runningStep, atPtr(-50), at(20), "No report from the agent since 2026-11-29T11:59:10Z"},
		"in UTC and whole seconds":                  {runningStep, ptr(at(10.9).In(time.FixedZone("", 7200))), at(100), "No report from the agent since 2026-11-29T12:00:10Z"},
		"none on a step that waits":                 {with(func(s *Step) { s.Status = StepPending }), atPtr(0), at(100), ""},
		"none on a step that failed":                {with(func(s *Step) { s.Status = StepFailed }), atPtr(0), at(100), ""},
		"none on a step of the flow":                {with(func(s *Step) { s.Kind = StepFlow }), atPtr(0), at(100), ""},
		"none on a step that never ran":             {with(func(s *Step) { s.Attempts = nil }), nil, at(100), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := optionalText(Notice(&tc.step, tc.lastReport, tc.now, timeout)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
