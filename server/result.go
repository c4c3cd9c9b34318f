// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
)

// noReason stands for the message of a flow that failed without one.
const noReason = "no reason was given"

// Result is the outcome of the task, its steps and the tasks that its hook
// steps started (R11). Without such a task it is ResultRunning.
func (ts Tasks) Result(id string) TaskResult {
	if task := ts.Find(id); task != nil {
		return ts.result(task)
	}
	return ResultRunning
}

func (ts Tasks) result(task *Task) TaskResult {
	if !task.FlowEnded() {
		return ResultRunning
	}
	failed, superseded, done := task.Status == TaskFailed, task.Superseded, true
	for i := range task.Steps {
		failed = failed || task.Steps[i].Status == StepFailed
		done = done && task.Steps[i].Status == StepSucceeded
	}
	for _, hook := range ts.below(task) {
		result := ts.result(hook)
		failed = failed || result == ResultFailed
		superseded = superseded || result == ResultSuperseded
		done = done && result == ResultSucceeded
	}
	switch {
	case failed:
		return ResultFailed
	case superseded:
		return ResultSuperseded
	case done:
		return ResultSucceeded
	default:
		return ResultRunning
	}
}

// FailureReason says why the task's result is not ResultSucceeded, in the words
// of the SDK: the deepest failed step of the task and its hook tasks, else the
// message of the flow that failed between two steps (R11). Nil: it has
// succeeded, or is not decided.
func (ts Tasks) FailureReason(id string) *string {
	task := ts.Find(id)
	if task == nil {
		return nil
	}
	var reason string
	switch ts.result(task) {
	case ResultFailed:
		if step := ts.deepestFailure(task); step != nil {
			reason = fmt.Sprintf("step %q failed: %s", step.Name, optionalText(step.Error()))
		} else {
			failed := ts.failedFlow(task)
			reason = fmt.Sprintf("task %s failed: %s", failed.ID, cmp.Or(optionalText(failed.Message), noReason))
		}
	case ResultSuperseded:
		reason = fmt.Sprintf("task %s was superseded by a later task of the deployment", task.ID)
	default:
		return nil
	}
	return &reason
}

// deepestFailure returns the first failed step of the task, or rather of the
// tasks that this step started, or nil.
func (ts Tasks) deepestFailure(task *Task) *Step {
	for i := range task.Steps {
		step := &task.Steps[i]
		for _, hook := range ts.below(task) {
			if hook.HookStepID == nil || *hook.HookStepID != step.ID {
				continue
			}
			if failed := ts.deepestFailure(hook); failed != nil {
				return failed
			}
		}
		if step.Status == StepFailed {
			return step
		}
	}
	return nil
}

// failedFlow returns the task itself where its flow failed, else the hook task
// below it whose flow did.
func (ts Tasks) failedFlow(task *Task) *Task {
	if task.Status == TaskFailed {
		return task
	}
	for _, hook := range ts.below(task) {
		if ts.result(hook) == ResultFailed {
			return ts.failedFlow(hook)
		}
	}
	return task
}
