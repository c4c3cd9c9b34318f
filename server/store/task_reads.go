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

// TaskFamily is what answers questions about tasks of one deployment.
type TaskFamily struct {
	Deployment server.Deployment
	// Tasks hold those above and below each, in order of creation.
	Tasks server.Tasks
}

// Task returns the family that the task belongs to. An unknown task is
// NOT_FOUND.
func (s *Store) Task(ctx context.Context, caller server.Identity, id string) (TaskFamily, error) {
	var family TaskFamily
	err := s.read(ctx, "task", func(ctx context.Context, db bun.IDB) error {
		var rows []taskRow
		if err := selectTasks(db, &rows).Where("t.id = ?", id).Scan(ctx); err != nil {
			return err
		}
		if len(rows) == 0 {
			return server.NotFound("task", id)
		}
		row := new(deploymentRow)
		if err := db.NewSelect().Model(row).Where("id = ?", rows[0].DeploymentID).Scan(ctx); err != nil {
			return fmt.Errorf("reading the task's deployment: %w", err)
		}
		if err := caller.CheckCluster(row.ClusterID); err != nil {
			return err
		}
		family.Deployment = row.Deployment
		var err error
		family.Tasks, err = withFamilies(ctx, db, rows)
		return err
	})
	return family, err
}

// TaskCount is how many tasks of a kind have a result.
type TaskCount struct {
	Kind   server.TaskKind
	Result server.TaskResult
	Count  int
}

// CountTasks counts all tasks by kind and result.
func (s *Store) CountTasks(ctx context.Context) ([]TaskCount, error) {
	var counts []TaskCount
	err := s.read(ctx, "count tasks", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().Table("tasks").Column("kind", "result").ColumnExpr("count(*) AS count").
			Group("kind", "result").Order("kind", "result").Scan(ctx, &counts)
	})
	return counts, err
}

// RunningStep is how long the work of a kind has been going on.
type RunningStep struct {
	Kind server.StepKind
	// StartedAt is when the oldest attempt that runs began.
	StartedAt time.Time
}

// OldestRunningSteps finds, for each kind of step, the attempt that has been
// running the longest. Kinds of which none runs are left out.
func (s *Store) OldestRunningSteps(ctx context.Context) ([]RunningStep, error) {
	var oldest []RunningStep
	err := s.read(ctx, "oldest running steps", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().TableExpr("attempts AS a").
			Join("JOIN steps AS s ON s.id = a.step_id").
			Join("JOIN tasks AS t ON t.id = s.task_id").
			ColumnExpr("s.kind, min(a.started_at) AS started_at").
			Where("t.unsettled").Where("a.status = ?", server.StepRunning).
			Group("s.kind").Order("s.kind").Scan(ctx, &oldest)
	})
	return oldest, err
}
