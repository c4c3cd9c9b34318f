// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "testing"

func TestR11ResultAndFailureReason(t *testing.T) {
	step := func(id string, status StepStatus, reason ...string) Step {
		made := Step{ID: id, Name: id, Status: status}
		for _, text := range reason {
			made.Attempts = []StepAttempt{{Number: 1, Status: status, Error: &text}}
		}
		return made
	}
	task := func(id string, status TaskStatus, steps ...Step) Task {
		return Task{ID: id, Status: status, Steps: steps}
	}
	under := func(parent, step string, hook Task) Task {
		hook.ParentTaskID, hook.HookStepID = &parent, &step
		return hook
	}
	saying := func(message string, made Task) Task {
		made.Message = &message
		return made
	}
	superseded := func(made Task) Task {
		made.Superseded = true
		return made
	}

	cases := map[string]struct {
		tasks  Tasks
		want   TaskResult
		reason string
	}{
		"RUNNING until the flow ended, though a step has failed": {
			Tasks{task("t", TaskRunning, step("a", StepFailed, "no"))}, ResultRunning, "",
		},
		"RUNNING until the flow ended, though it was superseded": {
			Tasks{superseded(task("t", TaskPending, step("a", StepCancelled)))}, ResultRunning, "",
		},
		"RUNNING while a step runs after the flow": {
			Tasks{task("t", TaskSuccess, step("a", StepSucceeded), step("b", StepRunning))}, ResultRunning, "",
		},
		"RUNNING while a hook task has not ended": {
			Tasks{task("t", TaskSuccess, step("a", StepSucceeded)), under("t", "a", task("h", TaskRunning))}, ResultRunning, "",
		},
		"SUCCEEDED when all have succeeded": {
			Tasks{task("t", TaskSuccess, step("a", StepSucceeded)), under("t", "a", task("h", TaskSuccess, step("b", StepSucceeded)))}, ResultSucceeded, "",
		},
		"FAILED when the flow failed between two steps": {
			Tasks{saying("worker lost", task("t", TaskFailed, step("a", StepSucceeded), step("b", StepCancelled)))},
			ResultFailed, "task t failed: worker lost",
		},
		"FAILED when the flow failed without a word": {
			Tasks{task("t", TaskFailed)}, ResultFailed, "task t failed: no reason was given",
		},
		"FAILED when a step failed, pending ones do not hold it": {
			Tasks{task("t", TaskSuccess, step("a", StepSucceeded), step("b", StepFailed, "no chart"), step("c", StepPending))},
			ResultFailed, `step "b" failed: no chart`,
		},
		"FAILED before SUPERSEDED": {
			Tasks{superseded(task("t", TaskSuccess, step("a", StepFailed, "no")))}, ResultFailed, `step "a" failed: no`,
		},
		"the failed step is named rather than the flow's message": {
			Tasks{saying("gave up", task("t", TaskFailed, step("a", StepFailed, "no")))}, ResultFailed, `step "a" failed: no`,
		},
		"the deepest failed step is named": {
			Tasks{
				task("t", TaskFailed, step("hook", StepFailed, "task h has failed")),
				under("t", "hook", task("h", TaskSuccess, step("x", StepSucceeded), step("y", StepFailed, "no image"))),
			},
			ResultFailed, `step "y" failed: no image`,
		},
		"the hook step is named where its task's flow failed between two steps": {
			Tasks{
				task("t", TaskFailed, step("hook", StepFailed, "task h has failed")),
				under("t", "hook", saying("worker lost", task("h", TaskFailed, step("x", StepCancelled)))),
			},
			ResultFailed, `step "hook" failed: task h has failed`,
		},
		"the hook task's message where no step failed": {
			Tasks{
				task("t", TaskSuccess, step("hook", StepSucceeded)),
				under("t", "hook", task("g", TaskSuccess, step("x", StepSucceeded))),
				under("t", "hook", saying("worker lost", task("h", TaskFailed))),
			},
			ResultFailed, "task h failed: worker lost",
		},
		"SUPERSEDED": {
			Tasks{superseded(task("t", TaskSuccess, step("a", StepCancelled)))},
			ResultSuperseded, "task t was superseded by a later task of the deployment",
		},
		"SUPERSEDED with a hook task": {
			Tasks{task("t", TaskSuccess, step("hook", StepSucceeded)), under("t", "hook", superseded(task("h", TaskSuccess, step("a", StepCancelled))))},
			ResultSuperseded, "task t was superseded by a later task of the deployment",
		},
		"RUNNING for a task that is not there": {nil, ResultRunning, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.tasks.Result("t"); got != tc.want {
				t.Errorf("result %s, want %s", got, tc.want)
			}
			if got := optionalText(tc.tasks.FailureReason("t")); got != tc.reason {
				t.Errorf("reason\n%s\nwant\n%s", got, tc.reason)
			}
		})
	}
}
