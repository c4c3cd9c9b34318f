// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import "fmt"

// move is what a flow does next.
type move int

const (
	// moveAway: the flow has ended on the server already.
	moveAway move = iota
	// moveWait: the operator works on steps that come before the flow's next one.
	moveWait
	// moveWork: the flow's next step is to be run.
	moveWork
	// moveEnd: the flow is at its end.
	moveEnd
)

// decision is the next move, with what it needs.
type decision struct {
	move move
	// step is what moveWork runs.
	step *StepFields
	// status and message are what moveEnd tells of the flow.
	status  TaskStatus
	message string
}

// next decides by the task's steps what its flow does next (W1, W3): the first
// step that has not succeeded is the one that counts, whoever ran those before.
func next(task *TaskFields) decision {
	if task.Status == TaskStatusSuccess || task.Status == TaskStatusFailed {
		return decision{move: moveAway}
	}
	for i := range task.Steps {
		step := &task.Steps[i]
		isOwn := step.Kind != StepKindOperatorPhase
		switch {
		case step.Status == StepStatusSucceeded:
			continue
		case step.Status == StepStatusCancelled:
			// A later task has superseded this one. The flow has done its part, and
			// the server tells the rest (R10).
			return decision{move: moveEnd, status: TaskStatusSuccess}
		case isOwn && step.Status == StepStatusFailed:
			return failedBy(step, "")
		case isOwn:
			return decision{move: moveWork, step: step}
		case !hasOwnSteps(task.Steps[i:]):
			return decision{move: moveEnd, status: TaskStatusSuccess}
		case step.Status == StepStatusFailed:
			return failedBy(step, "; the steps after the rollout were not run")
		default:
			return decision{move: moveWait}
		}
	}
	return decision{move: moveEnd, status: TaskStatusSuccess}
}

func failedBy(step *StepFields, consequence string) decision {
	reason := "no reason was given"
	if step.Error != nil && *step.Error != "" {
		reason = *step.Error
	}
	return decision{
		move: moveEnd, status: TaskStatusFailed,
		message: fmt.Sprintf("step %q failed: %s%s", step.Name, reason, consequence),
	}
}

// hasOwnSteps tells whether the flow has one of the steps to run.
func hasOwnSteps(steps []StepFields) bool {
	for i := range steps {
		if steps[i].Kind != StepKindOperatorPhase {
			return true
		}
	}
	return false
}
