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

// Bounds of what one answer holds of several deployments together. What is over
// a bound is TOO_LARGE: nothing is left out silently.
const (
	maxPodsOfDeployments  = 20_000
	maxTasksOfDeployments = 20_000
)

// ObservedOf returns what was last reported of each deployment, nil where
// nothing is.
func (s *Store) ObservedOf(ctx context.Context, ids []string) (map[string]*server.DeploymentStatus, error) {
	var deployments []deploymentRow
	var rows []deploymentStatusRow
	err := s.read(ctx, "observed deployments", func(ctx context.Context, db bun.IDB) error {
		return inBatches(ids, func(ids []string) error {
			var some []deploymentRow
			if err := db.NewSelect().Model(&some).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
				return err
			}
			var objects []deploymentStatusRow
			err := db.NewSelect().Model(&objects).Where("deployment_id IN (?)", bun.List(ids)).Scan(ctx)
			deployments, rows = append(deployments, some...), append(rows, objects...)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	groups := server.ByDeployment(deploymentStatuses(rows))
	observed := make(map[string]*server.DeploymentStatus, len(ids))
	for _, id := range ids {
		observed[id] = nil
	}
	for i := range deployments {
		observed[deployments[i].ID] = deployments[i].Prevailing(groups[deployments[i].ID])
	}
	return observed, nil
}

// PodsOf returns the observed pods of each deployment, by namespace and name.
func (s *Store) PodsOf(ctx context.Context, ids []string) (map[string][]server.PodStatus, error) {
	var rows []podRow
	err := s.read(ctx, "pods of deployments", func(ctx context.Context, db bun.IDB) error {
		return inBatches(ids, func(ids []string) error {
			var some []podRow
			err := db.NewSelect().Model(&some).ExcludeColumn("fingerprint").Where("deployment_id IN (?)", bun.List(ids)).
				Order("cluster_id", "namespace", "name").Limit(maxPodsOfDeployments + 1).Scan(ctx)
			if err != nil {
				return err
			}
			if rows = append(rows, some...); len(rows) > maxPodsOfDeployments {
				return server.Errorf(server.CodeTooLarge,
					"the deployments have more than %d pods: read them by podStatuses, page by page", maxPodsOfDeployments)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	pods := make(map[string][]server.PodStatus, len(ids))
	for _, id := range ids {
		pods[id] = nil
	}
	for i := range rows {
		pods[*rows[i].DeploymentID] = append(pods[*rows[i].DeploymentID], rows[i].PodStatus)
	}
	return pods, nil
}

// WrittenInstances returns instances by their ids.
func (s *Store) WrittenInstances(ctx context.Context, ids []string) (map[string]*server.Instance, error) {
	instances := make(map[string]*server.Instance, len(ids))
	err := s.read(ctx, "instances", func(ctx context.Context, db bun.IDB) error {
		return inBatches(ids, func(ids []string) error {
			var rows []instanceRow
			err := db.NewSelect().Model(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx)
			for i := range rows {
				instances[rows[i].ID] = &rows[i].Instance
			}
			return err
		})
	})
	return instances, err
}

// DeploymentTasks are the newest tasks of a deployment.
type DeploymentTasks struct {
	TaskFamily
	// Newest are the ids of the tasks, newest first, without those that only
	// belong to their families.
	Newest []string
}

// TasksOf returns the newest tasks of each deployment with their families, by
// the deployments' ids.
func (s *Store) TasksOf(ctx context.Context, deployments []server.Deployment, first int) (map[string]*DeploymentTasks, error) {
	if first < 1 || first > MaxPage {
		return nil, server.InvalidInput("first", "%d is not within 1 and %d", first, MaxPage)
	}
	found := make(map[string]*DeploymentTasks, len(deployments))
	ids := make([]string, len(deployments))
	for i, deployment := range deployments {
		ids[i] = deployment.ID
		found[deployment.ID] = &DeploymentTasks{TaskFamily: TaskFamily{Deployment: deployment}}
	}
	err := s.read(ctx, "tasks of deployments", func(ctx context.Context, db bun.IDB) error {
		return inBatches(ids, func(ids []string) error { return tasksOf(ctx, db, ids, first, found) })
	})
	return found, err
}

// tasksOf adds the newest tasks of deployments to what is found.
func tasksOf(ctx context.Context, db bun.IDB, ids []string, first int, found map[string]*DeploymentTasks) error {
	ranked := db.NewSelect().TableExpr("tasks AS r").Column("r.id").
		ColumnExpr("row_number() OVER (PARTITION BY r.deployment_id ORDER BY r.position DESC) AS place").
		Where("r.deployment_id IN (?)", bun.List(ids))
	var rows []taskRow
	err := selectTasks(db, &rows).Where("t.id IN (SELECT p.id FROM (?) AS p WHERE p.place <= ?)", ranked, first).
		Limit(maxTasksOfDeployments + 1).Scan(ctx)
	if err != nil {
		return fmt.Errorf("reading tasks: %w", err)
	}
	if len(rows) > maxTasksOfDeployments {
		return server.Errorf(server.CodeTooLarge, "these are more than %d tasks: ask for fewer of each deployment", maxTasksOfDeployments)
	}
	slices.SortFunc(rows, func(a, b taskRow) int { return int(b.Position - a.Position) })
	for i := range rows {
		of := found[rows[i].DeploymentID]
		of.Newest = append(of.Newest, rows[i].ID)
	}
	tasks, err := withFamilies(ctx, db, rows)
	if err != nil {
		return err
	}
	for _, task := range tasks {
		of := found[task.DeploymentID]
		of.Tasks = append(of.Tasks, task)
	}
	return nil
}

// inBatches calls do for parts of the ids that fit into a statement, until one
// fails.
func inBatches(ids []string, do func(ids []string) error) error {
	for ids := range slices.Chunk(ids, batch) {
		if err := do(ids); err != nil {
			return err
		}
	}
	return nil
}
