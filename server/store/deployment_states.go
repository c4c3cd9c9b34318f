// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

type deploymentRow struct {
	bun.BaseModel `bun:"table:deployments,alias:d"`

	server.Deployment
}

// loadStates reads the deployments that a report may change: those that it
// holds, adopting unknown ones (R14), and those that it may miss. before holds
// those that are stored.
func (r *deploymentReport) loadStates(
	ctx context.Context, rows server.DeploymentRows, stored []server.DeploymentStatus,
) (after, before map[string]*server.State, err error) {
	reported := slices.Sorted(maps.Keys(rows.Reported))
	var models []deploymentRow
	err = r.tx.NewSelect().Model(&models).Where("cluster_id = ?", r.clusterID()).
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("status <> ?", server.DeploymentDeleted).WhereOr("id IN (?)", bun.List(reported))
		}).Scan(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the deployments: %w", err)
	}
	after, before = map[string]*server.State{}, map[string]*server.State{}
	for i := range models {
		if !rows.Settled(&models[i].Deployment) {
			after[models[i].ID] = &server.State{Deployment: models[i].Deployment}
		}
	}
	known := map[string]bool{}
	for i := range models {
		known[models[i].ID] = true
	}
	tasks, err := loadTasks(ctx, r.tx, slices.Sorted(maps.Keys(after)))
	if err != nil {
		return nil, nil, err
	}
	objects := server.ByDeployment(stored)
	for id, state := range after {
		state.Tasks = tasks[id]
		state.Observed = server.Prevailing(objects[id])
		before[id] = state.Clone()
	}
	for _, id := range reported {
		if !known[id] {
			after[id] = &server.State{Deployment: server.Adopt(*server.Prevailing(rows.Reported[id]), r.at)}
		}
	}
	return after, before, nil
}

// namespaceOwners maps the namespaces of a cluster to the deployments whose pods
// they hold. Of several that claim one, the first by id gets it.
func namespaceOwners(ctx context.Context, tx bun.Tx, clusterID string) (map[string]string, error) {
	var rows []struct{ TargetNamespace, DeploymentID string }
	err := tx.NewSelect().Table("deployment_statuses").
		Column("target_namespace").ColumnExpr("min(deployment_id) AS deployment_id").
		Where("cluster_id = ?", clusterID).Where("target_namespace IS NOT NULL").
		Group("target_namespace").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("reading the target namespaces: %w", err)
	}
	owners := make(map[string]string, len(rows))
	for _, row := range rows {
		owners[row.TargetNamespace] = row.DeploymentID
	}
	return owners, nil
}

// reassignPods says again whose the pods of the namespaces are.
func reassignPods(ctx context.Context, tx bun.Tx, clusterID string, namespaces []string) error {
	for namespaces := range slices.Chunk(namespaces, batch) {
		_, err := tx.NewUpdate().Table("pod_statuses").
			Set("deployment_id = (SELECT min(ds.deployment_id) FROM deployment_statuses AS ds"+
				" WHERE ds.cluster_id = pod_statuses.cluster_id AND ds.target_namespace = pod_statuses.namespace)").
			Where("cluster_id = ?", clusterID).Where("namespace IN (?)", bun.List(namespaces)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("assigning pods to deployments: %w", err)
		}
	}
	return nil
}
