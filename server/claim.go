// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// Bounds of a claim (W3).
const (
	maxLeaseSeconds = 3600
	// maxLostLeases is how many workers may be lost on one flow without progress.
	maxLostLeases = 3
	workerLost    = "worker lost"
)

// Claim gives the worker the next task of a cluster: hook tasks first, then in
// order of creation, one flow at a time per deployment (W2). A task whose lease
// ran out is claimed again; one that lost three fails (W3). states are the
// deployments of the cluster with flows that have not ended; several may have
// changed even where no task is left to claim, which returns nil.
func Claim(states []*State, workerID string, leaseSeconds int, now time.Time) (*State, *Task, error) {
	lease, err := leaseOf(leaseSeconds)
	if err != nil {
		return nil, nil, err
	}
	if workerID == "" || CleanText(workerID, MaxNameBytes) != workerID {
		return nil, nil, InvalidInput("workerId", "must be text of 1 to %d bytes", MaxNameBytes)
	}
	for {
		state, task := nextTask(states, now)
		if task == nil {
			return nil, nil, nil
		}
		if task.isLostBy(workerID) {
			task.LostLeases++
		}
		if task.LostLeases >= maxLostLeases {
			message := workerLost
			state.endFlow(task, TaskFailed, &message, now)
			continue
		}
		task.claim(workerID, lease, now)
		return state, task, nil
	}
}

func (t *Task) claim(workerID string, lease time.Duration, now time.Time) {
	if t.StartedAt == nil {
		t.StartedAt = &now
	}
	until := now.Add(lease)
	t.Status, t.WorkerID, t.LeaseExpiresAt = TaskRunning, &workerID, &until
	t.ClaimSeconds, t.HandedOver = int(lease/time.Second), false
}

// isLostBy tells whether the next worker's claim means that the one before it was
// lost. That one was not if it had handed the task over, nor if it is the next one
// itself, which has not learned of its claim.
func (t *Task) isLostBy(next string) bool {
	return t.Status == TaskRunning && !t.HandedOver && *t.WorkerID != next
}

// progressed forgets the workers that were lost before a step of the task ended
// (W3).
func (t *Task) progressed() { t.LostLeases = 0 }

// RenewLease keeps the task for its worker. One that asks for a shorter lease than it
// claimed hands the task over; lengths are compared, not times, because each replica
// of the server has a clock of its own. It fails with CodeLeaseLost once another
// worker has the task.
func (s *State) RenewLease(taskID, workerID string, leaseSeconds int, now time.Time) error {
	lease, err := leaseOf(leaseSeconds)
	if err != nil {
		return err
	}
	task, err := s.held(taskID, workerID)
	if err != nil {
		return err
	}
	until := now.Add(lease)
	task.LeaseExpiresAt = &until
	task.HandedOver = leaseSeconds < task.ClaimSeconds
	return nil
}

func leaseOf(seconds int) (time.Duration, error) {
	if seconds < 1 || seconds > maxLeaseSeconds {
		return 0, InvalidInput("leaseSeconds", "must be from 1 to %d", maxLeaseSeconds)
	}
	return time.Duration(seconds) * time.Second, nil
}

// nextTask picks the task that is claimed next, or nil.
func nextTask(states []*State, now time.Time) (*State, *Task) {
	var state *State
	var next *Task
	for _, s := range states {
		if task := s.nextTask(now); task != nil && (next == nil || task.precedes(next)) {
			state, next = s, task
		}
	}
	return state, next
}

// nextTask picks the deployment's task that is claimed next, or nil.
func (s *State) nextTask(now time.Time) *Task {
	var first, hook *Task
	for i := range s.Tasks {
		task := &s.Tasks[i]
		switch {
		case !s.claimable(task, now):
		case task.IsHookTask() && hook == nil:
			hook = task
		case first == nil:
			first = task
		}
	}
	if hook != nil {
		return hook
	}
	return first
}

// precedes orders claims across deployments; the ids only make ties stable.
func (t *Task) precedes(other *Task) bool {
	if t.IsHookTask() != other.IsHookTask() {
		return t.IsHookTask()
	}
	if !t.CreatedAt.Equal(other.CreatedAt) {
		return t.CreatedAt.Before(other.CreatedAt)
	}
	return t.ID < other.ID
}

// claimable tells whether the task's turn has come: its lease has run out, or
// it waits and no other flow of the deployment goes on. A hook task runs while
// the flow above it waits for it.
func (s *State) claimable(task *Task, now time.Time) bool {
	switch task.Status {
	case TaskRunning:
		return task.leaseRanOut(now)
	case TaskPending:
		parent := s.Tasks.parent(task)
		if task.IsHookTask() {
			return parent != nil && parent.Status == TaskRunning
		}
		return !s.flowGoesOn()
	default:
		return false
	}
}

// leaseRanOut tells whether the worker of a running flow has let its lease go.
func (t *Task) leaseRanOut(now time.Time) bool {
	return t.LeaseExpiresAt == nil || !now.Before(*t.LeaseExpiresAt)
}

func (s *State) flowGoesOn() bool {
	for i := range s.Tasks {
		if s.Tasks[i].Status == TaskRunning {
			return true
		}
	}
	return false
}
