// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// neededTasks picks the tasks that the rules need of deployments, besides those
// above and below each: the unsettled ones, those that rolled out what was
// written last, and the delete tasks that were recorded last. Each part is answered from an index,
// however long the history is.
const neededTasks = `t.id IN (
	SELECT u.id FROM tasks AS u WHERE u.unsettled AND u.deployment_id IN (?0)
	UNION SELECT w.id FROM deployments AS d JOIN tasks AS w ON w.instance_id = d.written_instance_id WHERE d.id IN (?0)
	UNION SELECT x.id FROM tasks AS x WHERE x.kind = 'DELETE' AND x.deployment_id IN (?0) AND x.record_sequence > 0 AND
		x.record_sequence = (SELECT max(n.record_sequence) FROM tasks AS n WHERE n.deployment_id = x.deployment_id AND n.kind = 'DELETE'))`

// loadTasks reads the tasks of deployments that the rules need, by deployment.
func loadTasks(ctx context.Context, db bun.IDB, deploymentIDs []string) (map[string]server.Tasks, error) {
	groups := make(map[string]server.Tasks, len(deploymentIDs))
	for ids := range slices.Chunk(deploymentIDs, batch) {
		var rows []taskRow
		if err := selectTasks(db, &rows).Where(neededTasks, bun.List(ids)).Scan(ctx); err != nil {
			return nil, fmt.Errorf("reading tasks: %w", err)
		}
		tasks, err := withFamilies(ctx, db, rows)
		if err != nil {
			return nil, err
		}
		for _, task := range tasks {
			groups[task.DeploymentID] = append(groups[task.DeploymentID], task)
		}
	}
	return groups, nil
}

func selectTasks(db bun.IDB, rows *[]taskRow) *bun.SelectQuery {
	return db.NewSelect().Model(rows).ColumnExpr("t.*")
}

// withFamilies adds the tasks above and below the rows and returns all of them
// whole, in order of creation.
func withFamilies(ctx context.Context, db bun.IDB, rows []taskRow) (server.Tasks, error) {
	known := map[string]bool{}
	for fresh := rows; len(fresh) > 0; {
		ids := make([]string, len(fresh))
		var parents []string
		for i := range fresh {
			known[fresh[i].ID] = true
			ids[i] = fresh[i].ID
			if parent := fresh[i].ParentTaskID; parent != nil {
				parents = append(parents, *parent)
			}
		}
		var family []taskRow
		err := selectTasks(db, &family).WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("t.parent_task_id IN (?)", bun.List(ids)).WhereOr("t.id IN (?)", bun.List(parents))
		}).Scan(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the tasks above and below: %w", err)
		}
		fresh = slices.DeleteFunc(family, func(row taskRow) bool { return known[row.ID] })
		rows = append(rows, fresh...)
	}
	slices.SortFunc(rows, func(a, b taskRow) int { return int(a.Position - b.Position) })
	return whole(ctx, db, rows)
}

// whole reads the steps of tasks and their attempts.
func whole(ctx context.Context, db bun.IDB, rows []taskRow) (server.Tasks, error) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	steps, err := loadSteps(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	tasks := make(server.Tasks, len(rows))
	for i := range rows {
		if tasks[i], err = rows[i].task(); err != nil {
			return nil, err
		}
		tasks[i].Steps = steps[tasks[i].ID]
	}
	return tasks, nil
}

func loadSteps(ctx context.Context, db bun.IDB, taskIDs []string) (map[string][]server.Step, error) {
	if len(taskIDs) == 0 {
		return nil, nil
	}
	var rows []stepRow
	err := db.NewSelect().Model(&rows).Where("task_id IN (?)", bun.List(taskIDs)).Order("task_id", "position").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading steps: %w", err)
	}
	var attemptRows []attemptRow
	err = db.NewSelect().Model(&attemptRows).
		Where("step_id IN (SELECT s.id FROM steps AS s WHERE s.task_id IN (?))", bun.List(taskIDs)).
		Order("step_id", "number").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	attempts := map[string][]server.StepAttempt{}
	for i := range attemptRows {
		row := &attemptRows[i]
		attempts[row.StepID] = append(attempts[row.StepID], row.attempt())
	}
	steps := map[string][]server.Step{}
	for i := range rows {
		step, err := rows[i].step()
		if err != nil {
			return nil, err
		}
		step.Attempts = attempts[step.ID]
		steps[rows[i].TaskID] = append(steps[rows[i].TaskID], step)
	}
	return steps, nil
}

// loadInstances reads the newest written instances and those of the tasks.
func loadInstances(ctx context.Context, db bun.IDB, deployment *server.Deployment, tasks server.Tasks) ([]server.Instance, error) {
	var ids []string
	if deployment.WrittenInstanceID != nil {
		ids = append(ids, *deployment.WrittenInstanceID)
	}
	for i := range tasks {
		if tasks[i].InstanceID != nil && !tasks[i].FlowEnded() {
			ids = append(ids, *tasks[i].InstanceID)
		}
	}
	var rows []instanceRow
	if err := db.NewSelect().Model(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading instances: %w", err)
	}
	instances := make([]server.Instance, len(rows))
	for i := range rows {
		instances[i] = rows[i].Instance
	}
	return instances, nil
}
