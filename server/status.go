// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// operatorBehind is the message while the operator has not begun with the newest
// spec.
const operatorBehind = "waiting until the operator begins with the newest spec"

// applyStatus sets the deployment's status by what is reported (R5).
func (s *State) applyStatus(observed *DeploymentStatus, at time.Time) {
	if !s.setsStatus(observed) {
		return
	}
	switch styrminv1.DisplayState(observed.DisplayState) {
	case styrminv1.DisplayStateRunning:
		switch {
		case isBehind(observed):
			message := operatorBehind
			s.setStatus(DeploymentDeploying, &message, at)
		case !s.flowsEnded(observed.InstanceID):
			s.setStatus(DeploymentDeploying, observed.Message, at)
		default:
			s.setStatus(DeploymentRunning, nil, at)
		}
	case styrminv1.DisplayStateError:
		s.setStatus(DeploymentFailed, observed.Message, at)
	case styrminv1.DisplayStateDeleting:
		s.setStatus(DeploymentDeleting, observed.Message, at)
	case styrminv1.DisplayStateDeleted:
		if s.Deployment.ManagedBy == DeploymentManagerServer && s.Deployment.DeletionRequestedAt == nil {
			// The server was not asked: it is missing as soon as the object is gone,
			// and never deleted (R9).
			s.setStatus(DeploymentDeleting, observed.Message, at)
			return
		}
		s.setStatus(DeploymentDeleted, nil, at)
	default:
		s.setStatus(DeploymentDeploying, observed.Message, at)
	}
}

// setsStatus tells whether the report may set the deployment's status at all:
// after a deletion request only Deleting and Deleted do, else only reports of
// the newest written instance (R5), and of those none that may speak of the
// rollout before (R4).
func (s *State) setsStatus(observed *DeploymentStatus) bool {
	state := styrminv1.DisplayState(observed.DisplayState)
	deleting := state == styrminv1.DisplayStateDeleting || state == styrminv1.DisplayStateDeleted
	if s.Deployment.DeletionRequestedAt != nil {
		return deleting
	}
	if !s.isNewest(observed.InstanceID) {
		return false
	}
	task := s.Tasks.rollingOut(observed.InstanceID)
	return deleting || task == nil || !inDoubt(observed) || s.Tasks.result(task) != ResultRunning
}

// isNewest tells whether no spec was written after the instance's. Where none
// was ever written every instance is.
func (s *State) isNewest(instanceID string) bool {
	written := s.Deployment.WrittenInstanceID
	return written == nil || *written == instanceID
}

// inDoubt tells whether phase and display state may belong to the rollout
// before the reported instance (R4).
func inDoubt(observed *DeploymentStatus) bool {
	if observed.InstanceSource == InstanceSourceSpec {
		return true
	}
	return observed.ObservedGeneration != nil && *observed.ObservedGeneration < observed.Generation
}

// isBehind tells whether the operator has not begun with the object's newest
// spec, so that what runs is not what is declared. A deletion raises the
// generation too, but declares nothing new (O1).
func isBehind(observed *DeploymentStatus) bool {
	return observed.DeletionRequestedAt == nil && observed.ObservedGeneration != nil &&
		*observed.ObservedGeneration < observed.Generation
}

// flowsEnded tells whether the flow of the task that rolled out the instance
// has ended, and those of all tasks above it. An instance without a task needs
// none (R5).
func (s *State) flowsEnded(instanceID string) bool {
	for task := s.Tasks.rollingOut(instanceID); task != nil; task = s.Tasks.parent(task) {
		if !task.FlowEnded() {
			return false
		}
	}
	return true
}

// setStatus sets status and message; the time moves only with the status, and
// never back: a report may have come in before the call that was applied before it.
func (s *State) setStatus(status DeploymentStatusName, message *string, at time.Time) {
	if message != nil && *message == "" {
		message = nil
	}
	s.Deployment.StatusMessage = message
	if s.Deployment.Status != status {
		s.Deployment.Status = status
		if at.After(s.Deployment.StatusSince) {
			s.Deployment.StatusSince = at
		}
	}
}
