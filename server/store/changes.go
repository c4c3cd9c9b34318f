// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/server"
)

// CreateDeployment declares a deployment and makes the task that creates it. A
// name that is taken in the cluster and environment is a CONFLICT.
func (s *Store) CreateDeployment(ctx context.Context, caller server.Identity, declared server.NewDeployment, key *string) (*server.Task, error) {
	if err := declared.Validate(); err != nil {
		return nil, err
	}
	change := server.Change{Kind: server.TaskCreate, Spec: declared.Spec}
	target := "cluster/" + declared.ClusterID + "/" + declared.ObjectName()
	call := idempotentCall{caller: caller, target: target, key: key, arguments: declared, at: s.clock()}
	var task *server.Task
	err := s.writeIn(ctx, "create deployment", declared.ClusterID, func(ctx context.Context, tx bun.Tx, _ *clusterRow) error {
		var err error
		task, err = call.once(ctx, tx, func() (*server.Task, error) {
			if err := checkNameIsFree(ctx, tx, declared); err != nil {
				return nil, err
			}
			state := server.State{Deployment: declared.Deployment(server.NewID(), call.at)}
			//nolint:contextcheck // The rules are pure: the schema's library wants a context, and nothing waits on it.
			task, err := state.RequestChange(change, call.at, server.NewID)
			if err != nil {
				return nil, err
			}
			if err := checkNamespaceIsFree(ctx, tx, &state.Deployment); err != nil {
				return nil, err
			}
			return task, storeState(ctx, tx, nil, &state)
		})
		return err
	})
	return task, err
}

// checkNameIsFree looks for a deployment, or an object that the cluster has by
// other means, whose StyrminDeployment has the same name.
func checkNameIsFree(ctx context.Context, tx bun.Tx, declared server.NewDeployment) error {
	taken, err := tx.NewSelect().Model((*deploymentRow)(nil)).
		Where("cluster_id = ?", declared.ClusterID).
		Where("managed_by = ?", server.DeploymentManagerServer).
		Where("status <> ?", server.DeploymentDeleted).
		Where("environment || '-' || name = ?", declared.ObjectName()).Exists(ctx)
	if err != nil {
		return fmt.Errorf("looking for the name: %w", err)
	}
	if taken {
		return &server.Error{Code: server.CodeConflict, Field: "input.name", Message: fmt.Sprintf(
			"the cluster has a deployment whose StyrminDeployment is named %s", declared.ObjectName())}
	}
	taken, err = livingObjects(tx).
		Where("cluster_id = ?", declared.ClusterID).
		Where("namespace = ?", server.ObjectNamespace).
		Where("name = ?", declared.ObjectName()).Exists(ctx)
	if err != nil {
		return fmt.Errorf("looking for the object: %w", err)
	}
	if taken {
		return &server.Error{Code: server.CodeConflict, Field: "input.name", Message: fmt.Sprintf(
			"the cluster has a StyrminDeployment %s/%s already", server.ObjectNamespace, declared.ObjectName())}
	}
	return nil
}

// livingObjects are the objects that were reported, but for those that the operator
// leaves for a moment after it deleted a deployment: the worker waits until such a
// one is gone. An object of a deleted deployment that was applied again stays.
func livingObjects(tx bun.Tx) *bun.SelectQuery {
	deleted := tx.NewSelect().Model((*deploymentRow)(nil)).Column("id").Where("status = ?", server.DeploymentDeleted)
	return tx.NewSelect().Model((*deploymentStatusRow)(nil)).
		Where("NOT (display_state = ? AND deployment_id IN (?))", styrminv1.DisplayStateDeleted, deleted)
}

// checkNamespaceIsFree looks for a live deployment, or an object that the cluster
// has by other means, that claims the same namespace: the operator would refuse
// it to the later one (O7).
func checkNamespaceIsFree(ctx context.Context, tx bun.Tx, deployment *server.Deployment) error {
	for what, query := range map[string]*bun.SelectQuery{
		"deployment": tx.NewSelect().Model((*deploymentRow)(nil)).Column("id").
			Where("status <> ?", server.DeploymentDeleted).Where("id <> ?", deployment.ID),
		"object": livingObjects(tx).Column("deployment_id").
			Where("deployment_id <> ?", deployment.ID),
	} {
		var claimants []string
		err := query.Where("cluster_id = ?", deployment.ClusterID).Where("target_namespace = ?", deployment.TargetNamespace).Scan(ctx, &claimants)
		if err != nil {
			return fmt.Errorf("looking for the %s of the namespace: %w", what, err)
		}
		if len(claimants) > 0 {
			return &server.Error{Code: server.CodeConflict, Field: "spec.targetNamespace", Message: fmt.Sprintf(
				"the namespace %s of the cluster belongs to deployment %s", *deployment.TargetNamespace, claimants[0])}
		}
	}
	return nil
}

// RequestChange makes the task that carries out a change of a deployment. It
// returns nil where nothing changes.
func (s *Store) RequestChange(ctx context.Context, caller server.Identity, deploymentID string, change server.Change, key *string) (*server.Task, error) {
	target := "deployment/" + deploymentID + "/" + string(change.Kind)
	call := idempotentCall{caller: caller, target: target, key: key, arguments: change, at: s.clock()}
	clusterID, err := s.clusterOfDeployment(ctx, caller, deploymentID)
	if err != nil {
		return nil, err
	}
	var task *server.Task
	err = s.writeIn(ctx, "request change", clusterID, func(ctx context.Context, tx bun.Tx, _ *clusterRow) error {
		state, err := loadState(ctx, tx, deploymentID)
		if err != nil {
			return err
		}
		task, err = call.once(ctx, tx, func() (*server.Task, error) {
			before := state.Clone()
			//nolint:contextcheck // The rules are pure: the schema's library wants a context, and nothing waits on it.
			task, err := state.RequestChange(change, call.at, server.NewID)
			if err != nil {
				return nil, err
			}
			// A deployment of which nothing was written yet may choose another one.
			if !equal(before.Deployment.TargetNamespace, state.Deployment.TargetNamespace) {
				if err := checkNamespaceIsFree(ctx, tx, &state.Deployment); err != nil {
					return nil, err
				}
			}
			return task, storeState(ctx, tx, before, state)
		})
		return err
	})
	return task, err
}

// loadState reads what the rules need of a deployment, under the lock of its
// cluster.
func loadState(ctx context.Context, tx bun.Tx, id string) (*server.State, error) {
	states, err := loadWhole(ctx, tx, []string{id})
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		return nil, server.NotFound("deployment", id)
	}
	return states[0], nil
}

// loadWhole reads deployments with all that the rules need, instances included.
func loadWhole(ctx context.Context, tx bun.Tx, ids []string) ([]*server.State, error) {
	var rows []deploymentRow
	if err := tx.NewSelect().Model(&rows).Where("id IN (?)", bun.List(ids)).Order("id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading deployments: %w", err)
	}
	tasks, err := loadTasks(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var objects []deploymentStatusRow
	if err := tx.NewSelect().Model(&objects).Where("deployment_id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading deployment statuses: %w", err)
	}
	observed := server.ByDeployment(deploymentStatuses(objects))
	states := make([]*server.State, len(rows))
	for i := range rows {
		deployment := rows[i].Deployment
		state := &server.State{
			Deployment: deployment, Tasks: tasks[deployment.ID], Observed: deployment.Prevailing(observed[deployment.ID]),
		}
		if state.Instances, err = loadInstances(ctx, tx, &deployment, state.Tasks); err != nil {
			return nil, err
		}
		states[i] = state
	}
	return states, nil
}
