// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"time"
)

// parentEnded is the message of a hook task that no one waits for any more.
const parentEnded = "the task that started it has ended"

// FinishTask ends the worker's flow, with TaskSuccess or TaskFailed. That is
// final: the same end again changes nothing, another one is CodeConflict. A
// flow with steps that have not ended is no success.
func (s *State) FinishTask(
	taskID, workerID string, status TaskStatus, message *string, now time.Time,
) (*Task, error) {
	if status != TaskSuccess && status != TaskFailed {
		return nil, InvalidInput("status", "a flow ends with %s or %s", TaskSuccess, TaskFailed)
	}
	if task := s.Tasks.Find(taskID); task != nil && task.Status == status &&
		task.WorkerID != nil && *task.WorkerID == workerID {
		return task, nil
	}
	task, err := s.held(taskID, workerID)
	if err != nil {
		return nil, err
	}
	if status == TaskSuccess {
		for i := range task.Steps {
			if step := &task.Steps[i]; step.Kind != StepOperatorPhase && step.Unfinished() {
				return nil, Errorf(CodeConflict, "step %q is %s", step.Name, step.Status)
			}
		}
	}
	s.endFlow(task, status, cleanOptional(message, maxErrorBytes), now)
	return task, nil
}

// endFlow ends a flow. Steps that it leaves behind are cancelled: its own, the
// operator's where nothing reached the operator, and the tasks of its hooks
// that no worker has begun.
func (s *State) endFlow(task *Task, status TaskStatus, message *string, now time.Time) {
	task.Status, task.Message, task.FinishedAt, task.LeaseExpiresAt = status, message, &now, nil
	for i := range task.Steps {
		if step := &task.Steps[i]; step.Kind != StepOperatorPhase || !task.Recorded() {
			step.cancel(now)
		}
	}
	for i := range s.Tasks {
		hook := &s.Tasks[i]
		if hook.Status == TaskPending && hook.ParentTaskID != nil && *hook.ParentTaskID == task.ID {
			reason := parentEnded
			s.endFlow(hook, TaskFailed, &reason, now)
		}
	}
	if s.Tasks.result(task) == ResultFailed && s.neverReachedTheCluster(task) {
		reason := s.Tasks.FailureReason(task.ID)
		s.setStatus(DeploymentFailed, reason, now)
		if task.wasRefused() {
			// Nobody works on it. A report begins it again, should one come (R8).
			for _, step := range task.operatorSteps() {
				if step.Status == StepRunning {
					step.end(StepFailed, now, reason)
				}
			}
		}
	}
}

// wasRefused tells whether the step that writes or deletes the StyrminDeployment has
// failed.
func (t *Task) wasRefused() bool {
	return slices.ContainsFunc(t.Steps, func(step Step) bool { return step.writesObject() && step.Status == StepFailed })
}

// neverReachedTheCluster tells whether, for all that reports have shown, a
// failed flow leaves the deployment with nothing that will report on it: its
// first write was not made, or the newest write or deletion was recorded and
// then not carried out. Reports of what runs instead set no status (R5), so
// only the failure can.
func (s *State) neverReachedTheCluster(task *Task) bool {
	switch {
	case !task.Recorded():
		return task.Kind() == TaskCreate
	case task.Kind() == TaskDelete:
		return s.Deployment.Status == DeploymentDeleting && s.Observed != nil && s.Observed.DeletionRequestedAt == nil
	default:
		return s.isNewest(*task.InstanceID) && (s.Observed == nil || s.Observed.InstanceID != *task.InstanceID)
	}
}
