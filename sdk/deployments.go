// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/Khan/genqlient/graphql"
	"github.com/google/uuid"
)

// DeploymentsService reads and changes deployments.
//
// Its changes return the task that carries them out; it may not have begun when
// they return. WaitForTask waits for its end. A change is made once however
// often its call had to be tried: see IdempotencyKey.
type DeploymentsService struct{ client *Client }

// ChangeOption changes how a change is asked for.
type ChangeOption func(*changeOptions)

type changeOptions struct{ key string }

// IdempotencyKey names the change: within a day, the same call under the same
// key with the same token returns the task of the first, also from a script that
// was started anew. Another call under the same key is ErrConflict. Without the
// option each call has a key of its own for all its tries.
func IdempotencyKey(key string) ChangeOption {
	return func(o *changeOptions) { o.key = key }
}

// List returns the deployments that the filter picks, without the specs of their
// instances; those that were deleted only where it asks for StatusDeleted. More
// than the server answers at once, 5,000, are ErrTooLarge.
func (s *DeploymentsService) List(ctx context.Context, filter DeploymentFilter) ([]Deployment, error) {
	answer, err := retry(ctx, s.client, func(ctx context.Context) (*listDeploymentsResponse, error) {
		return listDeployments(ctx, s.client.graphql, filter)
	})
	if err != nil {
		return nil, fmt.Errorf("listing deployments: %w", err)
	}
	return answer.Deployments, nil
}

// Get returns a deployment, or ErrNotFound.
func (s *DeploymentsService) Get(ctx context.Context, id string) (*Deployment, error) {
	return retry(ctx, s.client, func(ctx context.Context) (*Deployment, error) { return s.get(ctx, id) })
}

// get is one try of Get.
func (s *DeploymentsService) get(ctx context.Context, id string) (*Deployment, error) {
	answer, err := getDeployment(ctx, s.client.graphql, id)
	if err == nil && answer.Deployment == nil {
		err = notFound("deployment", id)
	}
	if err != nil {
		return nil, fmt.Errorf("reading deployment %s: %w", id, err)
	}
	return answer.Deployment, nil
}

// Create declares a deployment and rolls it out.
func (s *DeploymentsService) Create(ctx context.Context, declared NewDeployment, options ...ChangeOption) (*Task, error) {
	spec, err := encodeSpec(declared.Spec)
	if err != nil {
		return nil, fmt.Errorf("creating deployment %s: %w", declared.Name, err)
	}
	input := createDeploymentInput{
		Name: declared.Name, ClusterID: declared.ClusterID, Environment: declared.Environment,
		Internal: declared.Internal, Spec: spec,
	}
	call := func(ctx context.Context, c graphql.Client, key string) (*createDeploymentResponse, error) {
		return createDeployment(ctx, c, input, key)
	}
	return changeWithTask(ctx, s.client, "creating deployment "+declared.Name, call, options)
}

// Update replaces the whole spec, given as in NewDeployment. It returns nil, and
// there is nothing to wait for, where nothing changes.
func (s *DeploymentsService) Update(ctx context.Context, id string, spec any, options ...ChangeOption) (*Task, error) {
	encoded, err := encodeSpec(spec)
	if err != nil {
		return nil, fmt.Errorf("updating deployment %s: %w", id, err)
	}
	call := func(ctx context.Context, c graphql.Client, key string) (*updateDeploymentResponse, error) {
		return updateDeployment(ctx, c, id, encoded, key)
	}
	return change(ctx, s.client, "updating deployment "+id, call, options)
}

// Scale sets how many replicas of the named components should run. It returns
// nil, and there is nothing to wait for, where nothing changes.
func (s *DeploymentsService) Scale(ctx context.Context, id string, replicas map[string]int, options ...ChangeOption) (*Task, error) {
	input := make([]componentReplicasInput, 0, len(replicas))
	// In order, so that a repeated call is the same call.
	for _, component := range slices.Sorted(maps.Keys(replicas)) {
		input = append(input, componentReplicasInput{component, replicas[component]})
	}
	call := func(ctx context.Context, c graphql.Client, key string) (*scaleDeploymentResponse, error) {
		return scaleDeployment(ctx, c, id, input, key)
	}
	return change(ctx, s.client, "scaling deployment "+id, call, options)
}

// UpdateVersion changes the version of the application and of its chart, with
// the hooks that the spec has for that. It returns nil, and there is nothing to
// wait for, where nothing changes.
func (s *DeploymentsService) UpdateVersion(ctx context.Context, id, version string, options ...ChangeOption) (*Task, error) {
	call := func(ctx context.Context, c graphql.Client, key string) (*updateDeploymentVersionResponse, error) {
		return updateDeploymentVersion(ctx, c, id, version, key)
	}
	return change(ctx, s.client, "changing the version of deployment "+id, call, options)
}

// Delete removes the deployment and all that runs for it. While a deletion is
// under way, its task is returned.
func (s *DeploymentsService) Delete(ctx context.Context, id string, options ...ChangeOption) (*Task, error) {
	call := func(ctx context.Context, c graphql.Client, key string) (*deleteDeploymentResponse, error) {
		return deleteDeployment(ctx, c, id, key)
	}
	return changeWithTask(ctx, s.client, "deleting deployment "+id, call, options)
}

// StartComponents lets stopped components run again, with the replicas that they
// had.
func (s *DeploymentsService) StartComponents(ctx context.Context, id string, components []string, options ...ChangeOption) (*Task, error) {
	call := func(ctx context.Context, c graphql.Client, key string) (*startComponentsResponse, error) {
		return startComponents(ctx, c, id, components, key)
	}
	return changeWithTask(ctx, s.client, "starting components of deployment "+id, call, options)
}

// StopComponents lets no pod of the components run until they are started.
func (s *DeploymentsService) StopComponents(ctx context.Context, id string, components []string, options ...ChangeOption) (*Task, error) {
	call := func(ctx context.Context, c graphql.Client, key string) (*stopComponentsResponse, error) {
		return stopComponents(ctx, c, id, components, key)
	}
	return changeWithTask(ctx, s.client, "stopping components of deployment "+id, call, options)
}

// RunJob runs a job of the spec once.
func (s *DeploymentsService) RunJob(ctx context.Context, id, job string, options ...ChangeOption) (*Task, error) {
	call := func(ctx context.Context, c graphql.Client, key string) (*runJobResponse, error) {
		return runJob(ctx, c, id, job, key)
	}
	return changeWithTask(ctx, s.client, "running job "+job+" of deployment "+id, call, options)
}

// change makes a call that changes a deployment, all its tries under one key:
// where only the answer was lost, the repeat returns the task of the first try.
func change[T interface{ GetTask() *Task }](
	ctx context.Context, c *Client, doing string,
	call func(ctx context.Context, c graphql.Client, key string) (T, error), options []ChangeOption,
) (*Task, error) {
	chosen := changeOptions{key: uuid.Must(uuid.NewV7()).String()}
	for _, option := range options {
		option(&chosen)
	}
	answer, err := retry(ctx, c, func(ctx context.Context) (T, error) { return call(ctx, c.graphql, chosen.key) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return answer.GetTask(), nil
}

// changeWithTask is change where the server always makes a task: an answer without
// one is not the server's.
func changeWithTask[T interface{ GetTask() *Task }](
	ctx context.Context, c *Client, doing string,
	call func(ctx context.Context, c graphql.Client, key string) (T, error), options []ChangeOption,
) (*Task, error) {
	checked := func(ctx context.Context, c graphql.Client, key string) (T, error) {
		answer, err := call(ctx, c, key)
		if err == nil && answer.GetTask() == nil {
			err = fmt.Errorf("%w: what answered gave no task", ErrUnavailable)
		}
		return answer, err
	}
	return change(ctx, c, doing, checked, options)
}

func encodeSpec(spec any) (json.RawMessage, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec: %w", err)
	}
	return encoded, nil
}
