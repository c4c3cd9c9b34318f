// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

// Result is the outcome of the task, its steps and the tasks that its hook
// steps started (R11). An unknown task is ResultRunning.
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
	for i := range ts {
		if parent := ts[i].ParentTaskID; parent == nil || *parent != task.ID {
			continue
		}
		result := ts.result(&ts[i])
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
