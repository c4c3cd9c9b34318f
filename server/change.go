// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"slices"
	"time"
)

// RequestChange makes the task that carries out a user's change, to be claimed
// in its turn. It returns nil where an update, a scaling or a change of the
// version changes nothing (W5). A refusal is CodeInvalidInput with the argument
// at fault, or CodeConflict.
func (s *State) RequestChange(change Change, now time.Time, newID func() string) (*Task, error) {
	if change.Kind == TaskDelete {
		return s.requestDeletion(now, newID)
	}
	if err := s.admits(change.Kind); err != nil {
		return nil, err
	}
	base, err := s.projected()
	if err != nil {
		return nil, err
	}
	if change, err = s.declared(change); err != nil {
		return nil, err
	}
	next, err := change.apply(base)
	if err != nil {
		return nil, err
	}
	if nothing, err := s.changesNothing(change.Kind, base, next); err != nil || nothing {
		return nil, err
	}
	task, err := s.addTask(change, next, now, newID)
	if err != nil {
		return nil, err
	}
	if namespace := next.text("targetNamespace"); namespace != "" {
		s.Deployment.TargetNamespace = &namespace
	}
	return task, nil
}

// requestDeletion makes the task that deletes the deployment, or returns the one
// at work. The deletion of what was never written is done at once.
func (s *State) requestDeletion(now time.Time, newID func() string) (*Task, error) {
	if s.neverWritten(now) {
		return s.deleteUnwritten(now, newID), nil
	}
	if task := s.deletionAtWork(); task != nil {
		return task, nil
	}
	if err := s.admits(TaskDelete); err != nil {
		return nil, err
	}
	return s.addTask(Change{Kind: TaskDelete}, nil, now, newID)
}

// admits refuses what the deployment is not open to.
func (s *State) admits(kind TaskKind) error {
	switch {
	case s.Deployment.Status == DeploymentDeleted:
		return Errorf(CodeConflict, "the deployment is deleted")
	case kind == TaskDelete:
		return nil
	case s.Deployment.DeletionRequestedAt != nil || s.deletionAtWork() != nil:
		return Errorf(CodeConflict, "the deployment is being deleted")
	case s.Deployment.ManagedBy == DeploymentManagerCluster:
		return Errorf(CodeConflict, "the deployment was applied straight to the cluster: change its StyrminDeployment there")
	case kind == TaskCreate && len(s.Tasks) > 0:
		return Errorf(CodeConflict, "the deployment is created already")
	}
	return nil
}

// deletionAtWork returns the delete task that waits or whose deletion goes on,
// or nil.
func (s *State) deletionAtWork() *Task {
	for i := range s.Tasks {
		if task := &s.Tasks[i]; task.Kind() == TaskDelete && s.Tasks.result(task) == ResultRunning {
			return task
		}
	}
	return nil
}

// declared completes the spec of a change that brings a whole one.
func (s *State) declared(change Change) (Change, error) {
	if change.Kind != TaskCreate && change.Kind != TaskUpdate {
		return change, nil
	}
	complete, err := declare(change.Spec, &s.Deployment)
	if err != nil {
		return change, err
	}
	change.Spec, err = complete.encode()
	return change, err
}

// changesNothing tells whether what the queue leads to is already what the
// change asks for. What failed, or is missing from the cluster or on its way out of
// it, is rolled out again when it is asked for again.
func (s *State) changesNothing(kind TaskKind, base, next spec) (bool, error) {
	switch kind {
	case TaskUpdate, TaskScale, TaskUpdateVersion:
	default:
		return false, nil
	}
	if again := !s.writesQueued() && s.hasComeToNothing(); again || base == nil {
		return false, nil
	}
	return base.equals(next)
}

// hasComeToNothing tells whether what was declared does not run, and nothing is at
// work that will make it run.
func (s *State) hasComeToNothing() bool {
	isGoing := s.Observed != nil && s.Observed.DeletionRequestedAt != nil && s.isNewest(s.Observed.InstanceID)
	return s.Deployment.Missing || isGoing || s.newestWriteFailed()
}

// newestWriteFailed tells whether the newest written spec has come to nothing, or
// was a hook's of an upgrade that has.
func (s *State) newestWriteFailed() bool {
	if s.Deployment.WrittenInstanceID == nil {
		return false
	}
	for task := s.Tasks.rollingOut(*s.Deployment.WrittenInstanceID); task != nil; task = s.Tasks.parent(task) {
		if s.Tasks.result(task) == ResultFailed {
			return true
		}
	}
	return false
}

// writesQueued tells whether a task is to write a spec yet.
func (s *State) writesQueued() bool {
	for i := range s.Tasks {
		if task := &s.Tasks[i]; task.Kind().writesSpec() && !task.FlowEnded() && !task.Recorded() {
			return true
		}
	}
	return false
}

// newestSpec is the newest written spec, or nil.
func (s *State) newestSpec() (spec, error) {
	if s.Deployment.WrittenInstanceID == nil {
		return nil, nil
	}
	instance := s.instance(*s.Deployment.WrittenInstanceID)
	if instance == nil {
		return nil, fmt.Errorf("instance %s of deployment %s is not loaded", *s.Deployment.WrittenInstanceID, s.Deployment.ID)
	}
	newest, err := decodeSpec(instance.Spec)
	if err != nil {
		return nil, fmt.Errorf("reading the spec of instance %s: %w", instance.ID, err)
	}
	return newest, nil
}

// projected is the spec that the queued tasks lead to, their hooks included
// (W5), or nil. Those of the running flow that are done already are done again,
// to the same end. A change that cannot be made, and a flow that has failed,
// lead nowhere.
func (s *State) projected() (spec, error) {
	leads, err := s.newestSpec()
	if err != nil {
		return nil, err
	}
	for i := range s.Tasks {
		task := &s.Tasks[i]
		if task.FlowEnded() || task.IsHookTask() || task.hasFailedStep() {
			continue
		}
		for _, change := range task.changes() {
			if next, err := change.apply(leads); err == nil {
				leads = next
			}
		}
	}
	return leads, nil
}

// changes are what the task's flow does to the spec, in order.
func (t *Task) changes() []Change {
	var changes []Change
	for i := range t.Steps {
		switch step := &t.Steps[i]; {
		case step.Hook != nil:
			changes = append(changes, *step.Hook)
		case step.Name == stepSpecWrite:
			changes = append(changes, t.Change)
		}
	}
	return changes
}

func (t *Task) hasFailedStep() bool {
	return slices.ContainsFunc(t.Steps, func(step Step) bool { return step.Status == StepFailed })
}

// addTask adds a task for the change; declared is the spec that it leads to.
func (s *State) addTask(change Change, declared spec, now time.Time, newID func() string) (*Task, error) {
	task := Task{
		ID: newID(), DeploymentID: s.Deployment.ID, Change: change,
		Status: TaskPending, CreatedAt: now,
	}
	if change.Kind.writesSpec() {
		id := newID()
		task.InstanceID = &id
	}
	var err error
	if task.Steps, err = plan(change, declared, s.Deployment.Internal, newID); err != nil {
		return nil, err
	}
	s.Tasks = append(s.Tasks, task)
	return &s.Tasks[len(s.Tasks)-1], nil
}

// instance returns the instance, or nil.
func (s *State) instance(id string) *Instance {
	for i := range s.Instances {
		if s.Instances[i].ID == id {
			return &s.Instances[i]
		}
	}
	return nil
}
