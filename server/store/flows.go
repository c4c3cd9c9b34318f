// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// Assignment is a task that a worker has claimed.
type Assignment struct {
	Task server.Task
	// Namespace and Name are those of the StyrminDeployment.
	Namespace, Name string
}

// ClaimTask gives the worker the next task of a cluster, or nil (W2, W3).
func (s *Store) ClaimTask(ctx context.Context, caller server.Identity, clusterID, workerID string, leaseSeconds int) (*Assignment, error) {
	if err := caller.CheckCluster(clusterID); err != nil {
		return nil, err
	}
	var assignment *Assignment
	err := s.writeIn(ctx, "claim task", clusterID, func(ctx context.Context, tx bun.Tx, _ *clusterRow) error {
		assignment = nil
		var ids []string
		err := tx.NewSelect().Model((*deploymentRow)(nil)).Column("id").Where("cluster_id = ?", clusterID).
			Where("id IN (SELECT t.deployment_id FROM tasks AS t WHERE t.finished_at IS NULL)").Order("id").Scan(ctx, &ids)
		if err != nil {
			return fmt.Errorf("looking for flows: %w", err)
		}
		states, err := loadWhole(ctx, tx, ids)
		if err != nil {
			return err
		}
		before := make([]*server.State, len(states))
		for i, state := range states {
			before[i] = state.Clone()
		}
		state, task, err := server.Claim(states, workerID, leaseSeconds, s.clock())
		if err != nil {
			return err
		}
		for i, state := range states {
			if err := storeState(ctx, tx, before[i], state); err != nil {
				return err
			}
		}
		if task != nil {
			assignment = &Assignment{Task: *task}
			assignment.Namespace, assignment.Name = state.Object()
		}
		return nil
	})
	return assignment, err
}

// inFlow applies a call of a worker to the task that it holds.
func (s *Store) inFlow(ctx context.Context, useCase string, caller server.Identity, taskID string, do func(*server.State, time.Time) error) error {
	place, err := s.placeOfTask(ctx, caller, taskID)
	if err != nil {
		return err
	}
	return s.writeIn(ctx, useCase, place.ClusterID, func(ctx context.Context, tx bun.Tx, _ *clusterRow) error {
		state, err := loadState(ctx, tx, place.DeploymentID)
		if err != nil {
			return err
		}
		if err := completeState(ctx, tx, state, taskID); err != nil {
			return err
		}
		before := state.Clone()
		if err := do(state, s.clock()); err != nil {
			return err
		}
		return storeState(ctx, tx, before, state)
	})
}

// completeState adds a task that the rules need no more, so that a late call for
// it is told what became of it.
func completeState(ctx context.Context, tx bun.Tx, state *server.State, taskID string) error {
	if state.Tasks.Find(taskID) != nil {
		return nil
	}
	task, err := readTask(ctx, tx, taskID)
	if err != nil {
		return err
	}
	state.Tasks = append(server.Tasks{*task}, state.Tasks...)
	return nil
}

// RenewTaskLease keeps the task for its worker (W3).
func (s *Store) RenewTaskLease(ctx context.Context, caller server.Identity, taskID, workerID string, leaseSeconds int) error {
	return s.inFlow(ctx, "renew task lease", caller, taskID, func(state *server.State, now time.Time) error {
		return state.RenewLease(taskID, workerID, leaseSeconds, now)
	})
}

// StartStep starts a step of the worker's flow.
func (s *Store) StartStep(ctx context.Context, caller server.Identity, taskID, workerID, stepID string) error {
	return s.inFlow(ctx, "start step", caller, taskID, func(state *server.State, now time.Time) error {
		_, err := state.StartStep(taskID, workerID, stepID, now)
		return err
	})
}

// FinishStep ends a step of the worker's flow; with a reason it has failed.
func (s *Store) FinishStep(ctx context.Context, caller server.Identity, taskID, workerID, stepID string, reason *string) error {
	return s.inFlow(ctx, "finish step", caller, taskID, func(state *server.State, now time.Time) error {
		_, err := state.FinishStep(taskID, workerID, stepID, reason, now)
		return err
	})
}

// StartHookTask makes the task that a hook step starts, and returns its id.
func (s *Store) StartHookTask(ctx context.Context, caller server.Identity, taskID, workerID, stepID string, hook server.Change) (string, error) {
	var id string
	err := s.inFlow(ctx, "start hook task", caller, taskID, func(state *server.State, now time.Time) error {
		task, err := state.StartHookTask(taskID, workerID, stepID, hook, now, server.NewID)
		if err == nil {
			id = task.ID
		}
		return err
	})
	return id, err
}

// RecordSpecWrite fixes the spec of the task's instance and returns it (W5, R10).
func (s *Store) RecordSpecWrite(ctx context.Context, caller server.Identity, taskID, workerID string) (server.Instance, error) {
	var recorded server.Instance
	err := s.inFlow(ctx, "record spec write", caller, taskID, func(state *server.State, now time.Time) error {
		instance, err := state.RecordSpecWrite(taskID, workerID, now)
		if err == nil {
			recorded = *instance
		}
		return err
	})
	return recorded, err
}

// RecordDeletionRequest notes that the StyrminDeployment is about to be deleted.
func (s *Store) RecordDeletionRequest(ctx context.Context, caller server.Identity, taskID, workerID string) error {
	return s.inFlow(ctx, "record deletion request", caller, taskID, func(state *server.State, now time.Time) error {
		return state.RecordDeletionRequest(taskID, workerID, now)
	})
}

// FinishTask ends the worker's flow.
func (s *Store) FinishTask(ctx context.Context, caller server.Identity, taskID, workerID string, status server.TaskStatus, message *string) error {
	return s.inFlow(ctx, "finish task", caller, taskID, func(state *server.State, now time.Time) error {
		_, err := state.FinishTask(taskID, workerID, status, message, now)
		return err
	})
}
