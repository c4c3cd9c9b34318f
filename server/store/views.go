// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// DeploymentView returns all that is known of a deployment, with at most so
// many pods and tasks. An unknown one is NOT_FOUND.
func (s *Store) DeploymentView(ctx context.Context, id string, pods, tasks int) (*server.DeploymentView, error) {
	view := new(server.DeploymentView)
	err := s.read(ctx, "deployment view", func(ctx context.Context, db bun.IDB) error {
		row := new(deploymentRow)
		if err := db.NewSelect().Model(row).Where("id = ?", id).Scan(ctx); err != nil {
			return found(err, "deployment", id)
		}
		view.Deployment = row.Deployment
		if err := viewObserved(ctx, db, view); err != nil {
			return err
		}
		if err := viewInstances(ctx, db, view); err != nil {
			return err
		}
		if err := viewPods(ctx, db, view, pods); err != nil {
			return err
		}
		return viewTasks(ctx, db, view, tasks)
	})
	if err != nil {
		return nil, err
	}
	return view, nil
}

func viewObserved(ctx context.Context, db bun.IDB, view *server.DeploymentView) error {
	var rows []deploymentStatusRow
	if err := db.NewSelect().Model(&rows).Where("deployment_id = ?", view.Deployment.ID).Scan(ctx); err != nil {
		return fmt.Errorf("reading what was observed: %w", err)
	}
	view.Observed = view.Deployment.Prevailing(deploymentStatuses(rows))
	return nil
}

// viewInstances reads the declared instance and the one that was reported.
func viewInstances(ctx context.Context, db bun.IDB, view *server.DeploymentView) error {
	var ids []string
	if written := view.Deployment.WrittenInstanceID; written != nil {
		ids = append(ids, *written)
	}
	if view.Observed != nil {
		ids = append(ids, view.Observed.InstanceID)
	}
	var rows []instanceRow
	err := db.NewSelect().Model(&rows).Where("id IN (?)", bun.List(ids)).
		Where("deployment_id = ?", view.Deployment.ID).Scan(ctx)
	if err != nil {
		return fmt.Errorf("reading instances: %w", err)
	}
	for i := range rows {
		instance := &rows[i].Instance
		if equal(view.Deployment.WrittenInstanceID, &instance.ID) {
			view.Declared = instance
		}
		if view.Observed != nil && view.Observed.InstanceID == instance.ID {
			view.Reported = instance
		}
	}
	return nil
}

func viewPods(ctx context.Context, db bun.IDB, view *server.DeploymentView, most int) error {
	var rows []podRow
	count, err := db.NewSelect().Model(&rows).ExcludeColumn("fingerprint").
		Where("deployment_id = ?", view.Deployment.ID).
		OrderExpr("(ready OR phase = 'Succeeded'), cluster_id, namespace, name").Limit(int64(most)).ScanAndCount(ctx)
	if err != nil {
		return fmt.Errorf("reading the pods: %w", err)
	}
	view.Pods, view.PodCount = podStatuses(rows), int(count)
	return nil
}

func viewTasks(ctx context.Context, db bun.IDB, view *server.DeploymentView, most int) error {
	var rows []taskRow
	count, err := selectTasks(db, &rows).Where("t.deployment_id = ?", view.Deployment.ID).Where("t.parent_task_id IS NULL").
		OrderExpr("(t.status = ?) DESC, t.position DESC", server.TaskRunning).Limit(int64(most)).ScanAndCount(ctx)
	if err != nil {
		return fmt.Errorf("reading tasks: %w", err)
	}
	view.TaskCount = int(count)
	for i := range rows {
		view.Newest = append(view.Newest, rows[i].ID)
	}
	view.Tasks, err = withFamilies(ctx, db, rows)
	return err
}

// TaskView returns the deployment of a task and the task's family, in order of
// creation. An unknown task is NOT_FOUND.
func (s *Store) TaskView(ctx context.Context, id string) (server.Deployment, server.Tasks, error) {
	family, err := s.Task(ctx, server.Identity{Role: server.RoleViewer}, id)
	return family.Deployment, family.Tasks, err
}
