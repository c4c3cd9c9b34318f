// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"encoding/json"

	"github.com/styrmin/styrmin/server"
)

// CreateDeployment declares a deployment and starts its creation.
func (r mutationResolver) CreateDeployment(ctx context.Context, input CreateDeploymentInput, key *string) (*Task, error) {
	task, err := r.Store.CreateDeployment(ctx, callerOf(ctx), server.NewDeployment{
		Name: input.Name, ClusterID: input.ClusterID, Environment: input.Environment, Internal: input.Internal, Spec: input.Spec,
	}, key)
	return r.changed(ctx, task, err)
}

// UpdateDeployment replaces the whole spec.
func (r mutationResolver) UpdateDeployment(ctx context.Context, id string, spec json.RawMessage, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskUpdate, Spec: spec}, key)
}

// ScaleDeployment changes how many replicas of components should run.
func (r mutationResolver) ScaleDeployment(ctx context.Context, id string, replicas []server.ComponentReplicas, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskScale, Replicas: replicas}, key)
}

// UpdateDeploymentVersion changes the version of the application and its chart.
func (r mutationResolver) UpdateDeploymentVersion(ctx context.Context, id, version string, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskUpdateVersion, Version: version}, key)
}

// DeleteDeployment deletes the deployment and all that runs for it.
func (r mutationResolver) DeleteDeployment(ctx context.Context, id string, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskDelete}, key)
}

// StartComponents lets stopped components run again.
func (r mutationResolver) StartComponents(ctx context.Context, id string, components []string, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskStartComponents, Components: components}, key)
}

// StopComponents scales components to nothing until they are started.
func (r mutationResolver) StopComponents(ctx context.Context, id string, components []string, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskStopComponents, Components: components}, key)
}

// RunJob runs a job of the spec once.
func (r mutationResolver) RunJob(ctx context.Context, id, job string, key *string) (*Task, error) {
	return r.change(ctx, id, server.Change{Kind: server.TaskRunJob, Job: job}, key)
}

func (r mutationResolver) change(ctx context.Context, id string, change server.Change, key *string) (*Task, error) {
	task, err := r.Store.RequestChange(ctx, callerOf(ctx), id, change, key)
	return r.changed(ctx, task, err)
}

// changed answers the task of a change, or null where nothing changes.
func (r mutationResolver) changed(ctx context.Context, task *server.Task, err error) (*Task, error) {
	if err != nil || task == nil {
		return nil, err
	}
	r.Log.Info("Requested a change", "task", task.ID, "kind", task.Kind(), "deployment", task.DeploymentID)
	return r.readTask(ctx, task.ID)
}

// readTask reads a task with all that its fields are answered from.
func (r *Resolver) readTask(ctx context.Context, id string) (*Task, error) {
	family, err := r.Store.Task(ctx, callerOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return r.reader(family).task(id), nil
}

// Task returns a task, or null.
func (r queryResolver) Task(ctx context.Context, id string) (*Task, error) {
	return orNull(r.readTask(ctx, id))
}

// Tasks lists the newest tasks of a deployment.
func (r deploymentResolver) Tasks(ctx context.Context, deployment *server.Deployment, first int) ([]Task, error) {
	found, err := loadersOf(ctx).tasks.Load(ctx, newestTasks{deployment, first})
	if err != nil {
		return nil, err
	}
	reader := r.reader(found.TaskFamily)
	tasks := make([]Task, len(found.Newest))
	for i, id := range found.Newest {
		tasks[i] = *reader.task(id)
	}
	return tasks, nil
}

// Instance returns what should run, or null.
func (r deploymentResolver) Instance(ctx context.Context, deployment *server.Deployment) (*server.Instance, error) {
	if deployment.WrittenInstanceID == nil {
		return nil, nil
	}
	return loadersOf(ctx).instances.Load(ctx, *deployment.WrittenInstanceID)
}
