// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

const (
	// DeletedDays is how long a deleted deployment can be looked up.
	DeletedDays = 30
	// KeptTasks is how many of a deployment's tasks are kept, besides those that
	// hooks started and those that reports and calls can still change.
	KeptTasks = 100
)

// Pruned counts what Prune removed.
type Pruned struct{ Deployments, Tasks, Instances int }

// Prune removes what is kept for a while and no rule needs any more: deployments
// that were deleted long ago, all but the newest tasks of the others, and the
// instances that no task or deployment names. Without it these would grow for
// ever. It can run at any time, on several servers at once.
func (s *Store) Prune(ctx context.Context) (Pruned, error) {
	var clusters []string
	err := s.read(ctx, "clusters to prune", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().Model((*clusterRow)(nil)).Column("id").Order("id").Scan(ctx, &clusters)
	})
	var total Pruned
	for _, id := range clusters {
		pruned, failed := s.pruneCluster(ctx, id)
		if failed != nil {
			return total, failed
		}
		total.Deployments += pruned.Deployments
		total.Tasks += pruned.Tasks
		total.Instances += pruned.Instances
	}
	return total, err
}

func (s *Store) pruneCluster(ctx context.Context, clusterID string) (Pruned, error) {
	var pruned Pruned
	err := s.writeIn(ctx, "prune", clusterID, func(ctx context.Context, tx bun.Tx, _ *clusterRow) error {
		for _, remove := range []struct {
			count *int
			query *bun.DeleteQuery
		}{
			{&pruned.Deployments, oldDeployments(tx, clusterID).Where("status_since < ?", s.clock().AddDate(0, 0, -DeletedDays))},
			{&pruned.Tasks, oldTasks(tx, clusterID)},
			{&pruned.Instances, unnamedInstances(tx, clusterID)},
		} {
			result, err := remove.query.Exec(ctx)
			if err != nil {
				return fmt.Errorf("removing what is old: %w", err)
			}
			n, err := result.RowsAffected()
			if err != nil {
				return fmt.Errorf("counting the rows: %w", err)
			}
			*remove.count = int(n)
		}
		return nil
	})
	return pruned, err
}

// oldDeployments are gone with all that is theirs. One whose object the cluster
// still has is not deleted, whatever its row says.
func oldDeployments(tx bun.Tx, clusterID string) *bun.DeleteQuery {
	return tx.NewDelete().Model((*deploymentRow)(nil)).
		Where("cluster_id = ?", clusterID).Where("status = ?", server.DeploymentDeleted).
		Where("id NOT IN (SELECT ds.deployment_id FROM deployment_statuses AS ds WHERE ds.cluster_id = ?)", clusterID)
}

// oldTasks are those of which neither they nor their hooks' tasks are unsettled
// or rolled out what was written last, nor that hold the newest deletion.
func oldTasks(tx bun.Tx, clusterID string) *bun.DeleteQuery {
	newest := tx.NewSelect().TableExpr("tasks AS n").Column("n.id").
		ColumnExpr("row_number() OVER (PARTITION BY n.deployment_id ORDER BY n.position DESC) AS place").
		Join("JOIN deployments AS d ON d.id = n.deployment_id").
		Where("d.cluster_id = ?", clusterID).Where("n.parent_task_id IS NULL")
	needed := tx.NewSelect().TableExpr("tasks AS f").Column("f.id").
		Join("JOIN deployments AS d ON d.id = f.deployment_id").
		Where("f.id = t.id OR f.parent_task_id = t.id").
		Where("f.unsettled OR f.instance_id = d.written_instance_id OR f.kind = ? AND f.record_sequence > 0", server.TaskDelete)
	return tx.NewDelete().Model((*taskRow)(nil)).
		Where("t.id IN (SELECT p.id FROM (?) AS p WHERE p.place > ?)", newest, KeptTasks).
		Where("NOT EXISTS (?)", needed)
}

func unnamedInstances(tx bun.Tx, clusterID string) *bun.DeleteQuery {
	return tx.NewDelete().Model((*instanceRow)(nil)).
		Where("i.deployment_id IN (SELECT d.id FROM deployments AS d WHERE d.cluster_id = ?)", clusterID).
		Where("NOT EXISTS (SELECT 1 FROM tasks AS t WHERE t.instance_id = i.id)").
		Where("NOT EXISTS (SELECT 1 FROM deployments AS d WHERE d.id = i.deployment_id AND d.written_instance_id = i.id)")
}
