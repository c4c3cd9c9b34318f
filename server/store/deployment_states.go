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
		state.Observed = state.Deployment.Prevailing(objects[id])
		before[id] = state.Clone()
	}
	for _, id := range reported {
		if !known[id] {
			after[id] = &server.State{Deployment: server.Adopt(*new(server.Deployment).Prevailing(rows.Reported[id]), r.at)}
		}
	}
	return after, before, nil
}
