// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
)

// TasksService reads tasks.
type TasksService struct{ client *Client }

// Get returns a task, or ErrNotFound.
func (s *TasksService) Get(ctx context.Context, id string) (*Task, error) {
	return retry(ctx, s.client, func(ctx context.Context) (*Task, error) { return s.get(ctx, id) })
}

// get is one try of Get.
func (s *TasksService) get(ctx context.Context, id string) (*Task, error) {
	answer, err := getTask(ctx, s.client.graphql, id)
	if err == nil && answer.Task == nil {
		err = notFound("task", id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	return answer.Task, nil
}

// List returns the newest tasks of a deployment, at most n, the newest first.
func (s *TasksService) List(ctx context.Context, deploymentID string, n int) ([]Task, error) {
	answer, err := retry(ctx, s.client, func(ctx context.Context) (*listTasksResponse, error) {
		return listTasks(ctx, s.client.graphql, deploymentID, n)
	})
	if err == nil && answer.Deployment == nil {
		err = notFound("deployment", deploymentID)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the tasks of deployment %s: %w", deploymentID, err)
	}
	return answer.Deployment.Tasks, nil
}
