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

// deploymentState is what the rules change of a deployment, with what it was.
type deploymentState struct {
	before *server.Deployment
	after  server.State
}

// loadStates reads the deployments that a report may change: those that it
// holds, adopting unknown ones (R14), and those that it may miss.
func (r *deploymentReport) loadStates(ctx context.Context, rows server.DeploymentRows, stored []server.DeploymentStatus) (map[string]*deploymentState, error) {
	reported := slices.Sorted(maps.Keys(rows.Reported))
	var models []deploymentRow
	err := r.tx.NewSelect().Model(&models).Where("cluster_id = ?", r.clusterID()).
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("status <> ?", server.DeploymentDeleted).WhereOr("id IN (?)", bun.List(reported))
		}).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the deployments: %w", err)
	}
	states := make(map[string]*deploymentState, len(models))
	for i := range models {
		deployment := models[i].Deployment
		states[deployment.ID] = &deploymentState{before: &deployment, after: server.State{Deployment: deployment}}
	}
	for _, id := range reported {
		if states[id] == nil {
			adopted := server.Adopt(*server.Prevailing(rows.Reported[id]), r.at)
			states[id] = &deploymentState{after: server.State{Deployment: adopted}}
		}
	}
	for id, objects := range server.ByDeployment(stored) {
		if state := states[id]; state != nil {
			state.after.Observed = server.Prevailing(objects)
		}
	}
	return states, nil
}

// store writes the deployment if it is new or changed. The time of the last
// report alone is written for all deployments at once.
func (s *deploymentState) store(ctx context.Context, tx bun.Tx) error {
	row := deploymentRow{Deployment: s.after.Deployment}
	if s.before == nil {
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("inserting deployment %s: %w", row.ID, err)
		}
		return nil
	}
	if sameDeployment(*s.before, row.Deployment) {
		return nil
	}
	if _, err := tx.NewUpdate().Model(&row).Where("id = ?", row.ID).Exec(ctx); err != nil {
		return fmt.Errorf("updating deployment %s: %w", row.ID, err)
	}
	return nil
}

// sameDeployment compares what rules and calls change of a deployment.
func sameDeployment(a, b server.Deployment) bool {
	return a.Internal == b.Internal && a.Status == b.Status && a.Missing == b.Missing &&
		equal(a.StatusMessage, b.StatusMessage) && a.StatusSince.Equal(b.StatusSince) &&
		equal(a.Version, b.Version) && equal(a.WrittenInstanceID, b.WrittenInstanceID) &&
		(a.DeletionRequestedAt == nil) == (b.DeletionRequestedAt == nil)
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
