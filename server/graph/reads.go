// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// Server tells the server's version and clock.
func (r queryResolver) Server(context.Context) (*ServerInfo, error) {
	return &ServerInfo{Version: r.Version, Time: r.Now()}, nil
}

// Tokens lists the tokens of people and scripts.
func (r queryResolver) Tokens(ctx context.Context) ([]server.Token, error) {
	return r.Store.Tokens(ctx)
}

// Clusters lists all clusters; an agent sees its own.
func (r queryResolver) Clusters(ctx context.Context) ([]server.Cluster, error) {
	if caller := callerOf(ctx); caller.Role == server.RoleAgent {
		cluster, err := r.Store.Cluster(ctx, caller.ClusterID)
		return []server.Cluster{cluster}, err
	}
	return r.Store.Clusters(ctx)
}

// Cluster returns a cluster, or null.
func (r queryResolver) Cluster(ctx context.Context, id string) (*server.Cluster, error) {
	cluster, err := r.Store.Cluster(ctx, id)
	return orNull(&cluster, err)
}

// Deployments lists deployments, deleted ones on request alone; an agent sees those of its cluster.
func (r queryResolver) Deployments(ctx context.Context, filter *store.DeploymentFilter) ([]server.Deployment, error) {
	wanted := deref(filter)
	if caller := callerOf(ctx); caller.Role == server.RoleAgent {
		if wanted.ClusterID == nil {
			wanted.ClusterID = &caller.ClusterID
		}
		if err := caller.CheckCluster(*wanted.ClusterID); err != nil {
			return nil, err
		}
	}
	return r.Store.Deployments(ctx, wanted)
}

// Deployment returns a deployment, or null.
func (r queryResolver) Deployment(ctx context.Context, id string) (*server.Deployment, error) {
	deployment, err := r.Store.Deployment(ctx, id)
	if err == nil {
		err = callerOf(ctx).CheckCluster(deployment.ClusterID)
	}
	return orNull(&deployment, err)
}

// PodStatuses lists observed pods.
func (r queryResolver) PodStatuses(
	ctx context.Context, filter *store.PodStatusFilter, first int, after *string,
) ([]server.PodStatus, error) {
	return r.Store.PodStatuses(ctx, deref(filter), store.Page{First: first, After: after})
}

// DeploymentStatuses lists observed StyrminDeployments.
func (r queryResolver) DeploymentStatuses(
	ctx context.Context, filter *store.DeploymentStatusFilter, first int, after *string,
) ([]server.DeploymentStatus, error) {
	return r.Store.DeploymentStatuses(ctx, deref(filter), store.Page{First: first, After: after})
}

// Observed returns what was last reported of a deployment, or null.
func (r deploymentResolver) Observed(ctx context.Context, deployment *server.Deployment) (*server.DeploymentStatus, error) {
	return loadersOf(ctx).observed.Load(ctx, deployment.ID)
}

// Pods lists the observed pods of a deployment.
func (r deploymentResolver) Pods(ctx context.Context, deployment *server.Deployment) ([]server.PodStatus, error) {
	return loadersOf(ctx).pods.Load(ctx, deployment.ID)
}

// orNull answers null for what does not exist, as the schema wants it of a
// single object that is looked up by id.
func orNull[T any](value *T, err error) (*T, error) {
	switch {
	case err == nil:
		return value, nil
	case server.CodeOf(err) == server.CodeNotFound:
		return nil, nil
	}
	return nil, err
}

func deref[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}
