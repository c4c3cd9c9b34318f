// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"time"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// notFound is the message of a deployment whose object is gone without a
// deletion request (R9).
const notFound = "not found in the cluster"

// ApplyAbsence applies a complete report that does not hold the deployment's
// object (R9): after a deletion request that is the same as Deleted; without
// one a deployment of the server has failed, and an adopted one is deleted. An
// object that was not reported since its write is not missing yet, nor is one whose
// write goes on: the worker may wait until the object before it has gone. Likewise
// what the agent saw before the deletion was requested says nothing about the
// deletion: the object may not have been there yet. provenAt is until when the
// report is proven current, by the server's clock.
func (s *State) ApplyAbsence(received, provenAt time.Time) {
	s.Observed = nil
	requested := s.Deployment.DeletionRequestedAt
	switch {
	case requested != nil && !provenAt.After(*requested):
	case requested != nil:
		if task := s.Tasks.newestDeletion(); task != nil {
			gone := &DeploymentStatus{Phase: string(styrminv1.PhaseDeleted)}
			observation{DeploymentStatus: gone, receipt: Receipt{At: received}}.removal(task.operatorSteps())
		}
		s.setStatus(DeploymentDeleted, nil, received)
	case !s.reportedSinceWrite(), s.mayNotBeWritten(provenAt):
	case s.Deployment.ManagedBy == DeploymentManagerCluster:
		s.Deployment.Missing = true
		s.setStatus(DeploymentDeleted, nil, received)
	default:
		message := notFound
		s.Deployment.Missing = true
		s.setStatus(DeploymentFailed, &message, received)
		s.failRollout(&message, received)
	}
}

// failRollout fails the first unfinished step of the newest rollout, of which
// nothing can come any more. Without that its task would never have a result,
// and a flow that waits for the step would keep every other from its turn (W2).
func (s *State) failRollout(message *string, received time.Time) {
	if s.Deployment.WrittenInstanceID == nil {
		return
	}
	if task := s.Tasks.rollingOut(*s.Deployment.WrittenInstanceID); task != nil {
		gone := &DeploymentStatus{Phase: string(styrminv1.PhaseFailed), Message: message}
		noPods := func() []PodStatus { return nil }
		observation{DeploymentStatus: gone, receipt: Receipt{At: received}, pods: noPods}.rollout(task.operatorSteps())
	}
}

// mayNotBeWritten tells whether the step that writes the newest spec had not ended
// at that time, so that what the cluster had then says nothing about the object.
func (s *State) mayNotBeWritten(at time.Time) bool {
	if s.Deployment.WrittenInstanceID == nil {
		return false
	}
	task := s.Tasks.rollingOut(*s.Deployment.WrittenInstanceID)
	if task == nil {
		return false
	}
	return slices.ContainsFunc(task.Steps, func(step Step) bool {
		if !step.writesObject() {
			return false
		}
		ended := step.EndedAt()
		return step.Status == StepRunning || step.Status == StepSucceeded && ended != nil && !at.After(*ended)
	})
}

// reportedSinceWrite tells whether a complete report held the object after its
// spec was last written.
func (s *State) reportedSinceWrite() bool {
	reported, written := s.Deployment.LastReportAt, s.Deployment.WrittenAt
	return reported != nil && (written == nil || reported.After(*written))
}
