// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"

	"github.com/styrmin/styrmin/server"
)

// ClaimTask gives the worker the next task of a cluster, or null.
func (r mutationResolver) ClaimTask(ctx context.Context, clusterID, workerID string, leaseSeconds int) (*TaskAssignment, error) {
	assignment, err := r.Store.ClaimTask(ctx, callerOf(ctx), clusterID, workerID, leaseSeconds)
	if err != nil || assignment == nil {
		return nil, err
	}
	r.Log.Info("Gave a task to a worker", "task", assignment.Task.ID, "kind", assignment.Task.Kind(), "worker", workerID,
		"lostLeases", assignment.Task.LostLeases)
	task, err := r.readTask(ctx, assignment.Task.ID)
	if err != nil {
		return nil, err
	}
	return &TaskAssignment{
		Task: task, Namespace: assignment.Namespace, Name: assignment.Name, LeaseExpiresAt: *assignment.Task.LeaseExpiresAt,
	}, nil
}

// RenewTaskLease keeps a task for its worker.
func (r mutationResolver) RenewTaskLease(ctx context.Context, taskID, workerID string, leaseSeconds int) (bool, error) {
	err := r.Store.RenewTaskLease(ctx, callerOf(ctx), taskID, workerID, leaseSeconds)
	return err == nil, err
}

// StartStep starts a step of the worker's flow.
func (r mutationResolver) StartStep(ctx context.Context, taskID, workerID, stepID string) (*Step, error) {
	return r.step(ctx, taskID, stepID, r.Store.StartStep(ctx, callerOf(ctx), taskID, workerID, stepID))
}

// FinishStep ends a step of the worker's flow.
func (r mutationResolver) FinishStep(ctx context.Context, taskID, workerID, stepID string, reason *string) (*Step, error) {
	return r.step(ctx, taskID, stepID, r.Store.FinishStep(ctx, callerOf(ctx), taskID, workerID, stepID, reason))
}

// step answers a step that a call moved.
func (r mutationResolver) step(ctx context.Context, taskID, stepID string, err error) (*Step, error) {
	if err != nil {
		return nil, err
	}
	task, err := r.readTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	return task.step(stepID), nil
}

// hookKinds are what hook steps can do.
var hookKinds = map[HookAction]server.TaskKind{
	HookActionStopComponents:  server.TaskStopComponents,
	HookActionStartComponents: server.TaskStartComponents,
	HookActionRunJob:          server.TaskRunJob,
}

// StartHookTask makes a task that a hook step waits for.
func (r mutationResolver) StartHookTask(ctx context.Context, taskID, workerID, stepID string, input HookTaskInput) (*Task, error) {
	hook := server.Change{Kind: hookKinds[input.Action], Components: input.Components, Job: deref(input.Job)}
	id, err := r.Store.StartHookTask(ctx, callerOf(ctx), taskID, workerID, stepID, hook)
	if err != nil {
		return nil, err
	}
	return r.readTask(ctx, id)
}

// RecordSpecWrite fixes what the flow is about to write.
func (r mutationResolver) RecordSpecWrite(ctx context.Context, taskID, workerID string) (*server.Instance, error) {
	instance, err := r.Store.RecordSpecWrite(ctx, callerOf(ctx), taskID, workerID)
	if err != nil {
		return nil, err
	}
	return &instance, nil
}

// RecordDeletionRequest notes that the flow is about to delete the object.
func (r mutationResolver) RecordDeletionRequest(ctx context.Context, taskID, workerID string) (bool, error) {
	err := r.Store.RecordDeletionRequest(ctx, callerOf(ctx), taskID, workerID)
	return err == nil, err
}

// FinishTask ends the worker's flow.
func (r mutationResolver) FinishTask(ctx context.Context, taskID, workerID string, status server.TaskStatus, message *string) (*Task, error) {
	if err := r.Store.FinishTask(ctx, callerOf(ctx), taskID, workerID, status, message); err != nil {
		return nil, err
	}
	task, err := r.readTask(ctx, taskID)
	if err != nil {
		return nil, err
	}
	r.Log.Info("A flow has ended", "task", taskID, "status", status)
	return task, nil
}
