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

// DeploymentSummaries returns what a list shows of all deployments, by cluster
// and name: of those that are deleted, or of all others. It takes the same
// three queries however many there are.
func (s *Store) DeploymentSummaries(ctx context.Context, deleted bool) ([]server.DeploymentSummary, error) {
	var summaries []server.DeploymentSummary
	err := s.read(ctx, "deployment summaries", func(ctx context.Context, db bun.IDB) error {
		var rows []deploymentRow
		err := db.NewSelect().Model(&rows).Where("(status = ?) = ?", server.DeploymentDeleted, deleted).
			Order("cluster_id", "name", "created_at", "id").Scan(ctx)
		if err != nil {
			return fmt.Errorf("reading deployments: %w", err)
		}
		counts, err := countPods(ctx, db)
		if err != nil {
			return err
		}
		objects, err := observedComponents(ctx, db)
		if err != nil {
			return err
		}
		summaries = make([]server.DeploymentSummary, len(rows))
		for i := range rows {
			count := counts[rows[i].ID]
			summaries[i] = server.DeploymentSummary{Deployment: rows[i].Deployment, ReadyPods: count.Ready, LivePods: count.Live}
			summaries[i].Summarize(objects[rows[i].ID])
		}
		return nil
	})
	return summaries, err
}

// podCount counts the pods of a deployment but for those that have succeeded.
type podCount struct {
	DeploymentID string
	Ready        int
	Live         int
}

// countPods counts by deployment, from an index alone.
func countPods(ctx context.Context, db bun.IDB) (map[string]podCount, error) {
	var rows []podCount
	err := db.NewSelect().Table("pod_statuses").Column("deployment_id").
		ColumnExpr("count(*) FILTER (WHERE ready) AS ready").ColumnExpr("count(*) AS live").
		Where("deployment_id IS NOT NULL").Where("phase <> 'Succeeded'").Group("deployment_id").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("counting pods: %w", err)
	}
	counts := make(map[string]podCount, len(rows))
	for _, row := range rows {
		counts[row.DeploymentID] = row
	}
	return counts, nil
}

// observedComponents returns by deployment what tells the wanted pods.
func observedComponents(ctx context.Context, db bun.IDB) (map[string][]server.DeploymentStatus, error) {
	var rows []deploymentStatusRow
	err := db.NewSelect().Model(&rows).
		Column("deployment_id", "namespace", "name", "uid", "components", "deletion_requested_at").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading deployment statuses: %w", err)
	}
	return server.ByDeployment(deploymentStatuses(rows)), nil
}

// AgentSessions returns each cluster's own session and all others that were
// opened after since, newest first.
func (s *Store) AgentSessions(ctx context.Context, since time.Time) ([]server.Session, error) {
	var rows []sessionRow
	err := s.read(ctx, "agent sessions", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().Model(&rows).Where("s.opened_at > ?", since).
			WhereOr("s.id IN (SELECT c.session_id FROM clusters AS c)").Order("s.opened_at DESC", "s.id").Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	sessions := make([]server.Session, len(rows))
	for i, row := range rows {
		sessions[i] = server.Session{
			ID: row.ID, ClusterID: row.ClusterID, AgentID: row.AgentID, AgentVersion: row.AgentVersion,
			OpenedAt: row.OpenedAt, PodSequence: row.PodSequence, DeploymentSequence: row.DeploymentSequence,
		}
	}
	return sessions, nil
}
