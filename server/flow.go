// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
	"time"
)

// held returns the task whose flow the worker runs. It fails with CodeNotFound,
// with CodeLeaseLost once another worker has the task, and with CodeConflict
// when no one has claimed it or its flow has ended: that is final (W3).
func (s *State) held(taskID, workerID string) (*Task, error) {
	task := s.Tasks.Find(taskID)
	switch {
	case task == nil:
		return nil, NotFound("task", taskID)
	case task.WorkerID == nil:
		return nil, Errorf(CodeConflict, "task %s is not claimed", taskID)
	case *task.WorkerID != workerID:
		return nil, &Error{Code: CodeLeaseLost, Field: "workerId", Message: "task " + taskID + " has passed to another worker"}
	case task.FlowEnded():
		return nil, Errorf(CodeConflict, "the flow of task %s has ended: %s", taskID, task.Status)
	}
	return task, nil
}

// heldStep returns a step that the worker's flow moves, with its task.
func (s *State) heldStep(taskID, workerID, stepID string) (*Task, *Step, error) {
	task, err := s.held(taskID, workerID)
	if err != nil {
		return nil, nil, err
	}
	for i := range task.Steps {
		step := &task.Steps[i]
		if step.ID != stepID {
			continue
		}
		if step.Kind == StepOperatorPhase {
			return nil, nil, Errorf(CodeConflict, "step %q is moved by reports alone", step.Name)
		}
		return task, step, nil
	}
	return nil, nil, NotFound("step", stepID)
}

// StartStep starts a step of the worker's flow. Steps run in their order, those
// of the operator included: one that follows them waits until they have
// succeeded. Starting a running step again changes nothing.
func (s *State) StartStep(taskID, workerID, stepID string, now time.Time) (*Step, error) {
	task, step, err := s.heldStep(taskID, workerID, stepID)
	if err != nil {
		return nil, err
	}
	switch step.Status {
	case StepRunning:
		return step, nil
	case StepPending:
	default:
		return nil, Errorf(CodeConflict, "step %q has ended: %s", step.Name, step.Status)
	}
	for i := range task.Steps {
		earlier := &task.Steps[i]
		if earlier == step {
			break
		}
		if earlier.Status != StepSucceeded {
			return nil, Errorf(CodeConflict, "step %q before it is %s", earlier.Name, earlier.Status)
		}
	}
	step.begin(now)
	return step, nil
}

// FinishStep ends a running step of the worker's flow, well without reason and
// as failed with one. Ending it again the same way changes nothing. A step that
// writes or deletes the StyrminDeployment cannot succeed before that was
// recorded, nor a hook step before its tasks have.
func (s *State) FinishStep(taskID, workerID, stepID string, reason *string, now time.Time) (*Step, error) {
	task, step, err := s.heldStep(taskID, workerID, stepID)
	if err != nil {
		return nil, err
	}
	outcome := StepSucceeded
	if reason != nil {
		outcome = StepFailed
		why := cmp.Or(CleanText(*reason, maxErrorBytes), noReason)
		reason = &why
	}
	switch {
	case step.Status == outcome:
		return step, nil
	case step.Status != StepRunning:
		return nil, Errorf(CodeConflict, "step %q does not run: %s", step.Name, step.Status)
	}
	if outcome == StepSucceeded {
		if err := s.mayHaveSucceeded(task, step); err != nil {
			return nil, err
		}
	}
	step.end(outcome, now, reason)
	task.progressed()
	return step, nil
}

// mayHaveSucceeded refuses a success that the server knows to be none.
func (s *State) mayHaveSucceeded(task *Task, step *Step) error {
	if step.writesObject() && !task.Recorded() {
		return Errorf(CodeConflict, "step %q: nothing was recorded", step.Name)
	}
	for i := range s.Tasks {
		hook := &s.Tasks[i]
		if hook.HookStepID == nil || *hook.HookStepID != step.ID {
			continue
		}
		if result := s.Tasks.result(hook); result != ResultSucceeded {
			return Errorf(CodeConflict, "step %q: the result of task %s is %s", step.Name, hook.ID, result)
		}
	}
	return nil
}

// StartHookTask makes the task that a running hook step starts: it stops or
// starts components or runs a job, as the step was planned to, and is claimed like
// any other (W1). The same call again returns the same task.
func (s *State) StartHookTask(
	taskID, workerID, stepID string, hook Change, now time.Time, newID func() string,
) (*Task, error) {
	task, step, err := s.heldStep(taskID, workerID, stepID)
	if err != nil {
		return nil, err
	}
	if started := s.Tasks.startedBy(stepID, hook); started != nil {
		return started, nil
	}
	if step.Kind != StepHook || step.Status != StepRunning {
		return nil, Errorf(CodeConflict, "step %q is no running hook step", step.Name)
	}
	switch hook.Kind {
	case TaskStopComponents, TaskStartComponents, TaskRunJob:
	default:
		return nil, InvalidInput("action", "a hook cannot do %q", hook.Kind)
	}
	base, err := s.newestSpec()
	if err != nil {
		return nil, err
	}
	next, err := hook.apply(base)
	if err != nil {
		return nil, err
	}
	if step.Hook == nil || !step.Hook.sameHook(hook) {
		return nil, InvalidInput("input", "step %q does something else: the hook is to %s", step.Name, hook.summary())
	}
	parentID := task.ID
	started, err := s.addTask(hook, next, now, newID)
	if err != nil {
		return nil, err
	}
	started.ParentTaskID, started.HookStepID = &parentID, &stepID
	return started, nil
}

// RecordSpecWrite fixes the spec of the task's instance (W5), notes that it is
// about to be written, supersedes what came before (R10) and returns what to
// write. The same call again returns the same instance.
func (s *State) RecordSpecWrite(taskID, workerID string, now time.Time) (*Instance, error) {
	task, err := s.recording(taskID, workerID, stepSpecWrite)
	if err != nil {
		return nil, err
	}
	if task.Recorded() {
		if instance := s.instance(*task.InstanceID); instance != nil {
			return instance, nil
		}
		return nil, fmt.Errorf("instance %s of task %s is not loaded", *task.InstanceID, task.ID)
	}
	if s.Deployment.DeletionRequestedAt != nil {
		return nil, Errorf(CodeConflict, "the deployment is being deleted")
	}
	instance, err := s.compose(task, now)
	if err != nil {
		return nil, err
	}
	s.Instances = append(s.Instances, instance)
	s.record(task, now)
	s.Deployment.WrittenInstanceID, s.Deployment.WrittenAt = &instance.ID, &now
	s.Deployment.Version, s.Deployment.Missing = instance.Version, false
	s.setStatus(DeploymentDeploying, nil, now)
	return &s.Instances[len(s.Instances)-1], nil
}

// compose makes the task's instance of the newest written spec and the task's
// change (W5).
func (s *State) compose(task *Task, now time.Time) (Instance, error) {
	base, err := s.newestSpec()
	if err != nil {
		return Instance{}, err
	}
	next, err := task.Change.apply(base)
	if err != nil {
		return Instance{}, err
	}
	raw, err := next.encode()
	if err != nil {
		return Instance{}, err
	}
	instance := Instance{ID: *task.InstanceID, DeploymentID: s.Deployment.ID, CreatedAt: now, Spec: raw}
	if version := next.text("version"); version != "" {
		instance.Version = &version
	}
	return instance, nil
}

// RecordDeletionRequest notes that the deletion of the StyrminDeployment is
// about to be asked for, and supersedes what came before (R10). The same call
// again changes nothing.
func (s *State) RecordDeletionRequest(taskID, workerID string, now time.Time) error {
	task, err := s.recording(taskID, workerID, stepDeletionRequest)
	if err != nil || task.Recorded() {
		return err
	}
	s.record(task, now)
	if s.Deployment.DeletionRequestedAt == nil {
		s.Deployment.DeletionRequestedAt = &now
	}
	s.setStatus(DeploymentDeleting, nil, now)
	return nil
}

// recording returns the worker's task where the step that records runs.
func (s *State) recording(taskID, workerID, stepName string) (*Task, error) {
	task, err := s.held(taskID, workerID)
	if err != nil {
		return nil, err
	}
	for i := range task.Steps {
		if step := &task.Steps[i]; step.Kind == StepFlow && step.Name == stepName {
			if step.Status != StepRunning {
				return nil, Errorf(CodeConflict, "step %q does not run: %s", step.Name, step.Status)
			}
			return task, nil
		}
	}
	return nil, Errorf(CodeConflict, "task %s has no step %q", taskID, stepName)
}
