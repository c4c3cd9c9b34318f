// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestW1W3TheStepsSayWhatAFlowDoesNext(t *testing.T) {
	own := func(name string, status StepStatus) StepFields {
		return StepFields{Id: name, Name: name, Kind: StepKindFlow, Status: status}
	}
	hook := func(name string, status StepStatus) StepFields {
		return StepFields{Id: name, Name: name, Kind: StepKindHook, Status: status}
	}
	operator := func(name string, status StepStatus) StepFields {
		return StepFields{Id: name, Name: name, Kind: StepKindOperatorPhase, Status: status}
	}
	broken := func(step StepFields, reason string) StepFields {
		step.Error = &reason
		return step
	}
	success := decision{move: moveEnd, status: TaskStatusSuccess}
	for sentence, test := range map[string]struct {
		status TaskStatus
		steps  []StepFields
		want   decision
	}{
		"a new task begins at its first step": {
			steps: []StepFields{own("write", StepStatusPending), operator("ready", StepStatusPending)},
			want:  decision{move: moveWork, step: &StepFields{Id: "write", Name: "write", Kind: StepKindFlow, Status: StepStatusPending}},
		},
		"a step that another worker began is run again": {
			steps: []StepFields{hook("pre", StepStatusSucceeded), own("write", StepStatusRunning)},
			want:  decision{move: moveWork, step: &StepFields{Id: "write", Name: "write", Kind: StepKindFlow, Status: StepStatusRunning}},
		},
		"a flow ends with its own steps, however far the operator is": {
			steps: []StepFields{own("write", StepStatusSucceeded), operator("release", StepStatusRunning), operator("ready", StepStatusPending)},
			want:  success,
		},
		"a flow ends with its own steps, though the operator has failed": {
			steps: []StepFields{own("write", StepStatusSucceeded), operator("release", StepStatusFailed)},
			want:  success,
		},
		"a post hook waits for the operator": {
			steps: []StepFields{own("write", StepStatusSucceeded), operator("ready", StepStatusRunning), hook("post", StepStatusPending)},
			want:  decision{move: moveWait},
		},
		"a post hook follows the operator": {
			steps: []StepFields{own("write", StepStatusSucceeded), operator("ready", StepStatusSucceeded), hook("post", StepStatusPending)},
			want:  decision{move: moveWork, step: &StepFields{Id: "post", Name: "post", Kind: StepKindHook, Status: StepStatusPending}},
		},
		"a rollout that fails ends the flow that waits for it": {
			steps: []StepFields{own("write", StepStatusSucceeded), broken(operator("ready", StepStatusFailed), "no pods"), hook("post", StepStatusPending)},
			want: decision{move: moveEnd, status: TaskStatusFailed,
				message: `step "ready" failed: no pods; the steps after the rollout were not run`},
		},
		"a rollout that was superseded ends the flow that waits for it": {
			steps: []StepFields{own("write", StepStatusSucceeded), operator("ready", StepStatusCancelled), hook("post", StepStatusCancelled)},
			want:  success,
		},
		"a step that failed under a worker that was lost then ends the flow": {
			steps: []StepFields{broken(own("write", StepStatusFailed), "refused"), operator("ready", StepStatusPending)},
			want:  decision{move: moveEnd, status: TaskStatusFailed, message: `step "write" failed: refused`},
		},
		"an internal deployment has no steps to wait for (R13)": {
			steps: []StepFields{own("write", StepStatusSucceeded), hook("post", StepStatusPending)},
			want:  decision{move: moveWork, step: &StepFields{Id: "post", Name: "post", Kind: StepKindHook, Status: StepStatusPending}},
		},
		"a flow that has ended is left alone": {
			status: TaskStatusFailed,
			steps:  []StepFields{own("write", StepStatusPending)},
			want:   decision{move: moveAway},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := next(&TaskFields{Status: test.status, Steps: test.steps})
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(decision{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}
