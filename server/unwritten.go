// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// Messages of tasks around a deployment that never reached its cluster.
const (
	nothingToDelete = "nothing of the deployment was written to its cluster"
	deletedBefore   = "the deployment was deleted before anything of it was written"
)

// neverWritten tells whether the cluster has nothing of the deployment, and will
// get nothing: no write was recorded, which comes before each write, and no
// worker is at a flow that may record one.
func (s *State) neverWritten(now time.Time) bool {
	if s.Deployment.ManagedBy != DeploymentManagerServer || s.Deployment.Status == DeploymentDeleted ||
		s.Deployment.WrittenInstanceID != nil || s.Deployment.DeletionRequestedAt != nil || s.Observed != nil {
		return false
	}
	for i := range s.Tasks {
		if task := &s.Tasks[i]; task.Status == TaskRunning && !task.leaseRanOut(now) {
			return false
		}
	}
	return true
}

// deleteUnwritten deletes a deployment that never reached its cluster, at once:
// there is nothing that a worker or the operator could remove. The tasks that
// wait, or whose worker is lost, are superseded by the deletion (R10), and their
// end being final keeps a worker that comes back from writing (W3).
func (s *State) deleteUnwritten(now time.Time, newID func() string) *Task {
	for i := range s.Tasks {
		if task := &s.Tasks[i]; !task.FlowEnded() {
			message := deletedBefore
			task.Superseded = true
			s.endFlow(task, TaskSuccess, &message, now)
		}
	}
	message := nothingToDelete
	s.Tasks = append(s.Tasks, Task{
		ID: newID(), DeploymentID: s.Deployment.ID, Change: Change{Kind: TaskDelete},
		Status: TaskSuccess, Message: &message, CreatedAt: now, StartedAt: &now, FinishedAt: &now,
	})
	s.setStatus(DeploymentDeleted, nil, now)
	return &s.Tasks[len(s.Tasks)-1]
}
