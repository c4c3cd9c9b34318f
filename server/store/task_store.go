// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"reflect"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// storeState writes what a rule changed of a deployment. before nil: the
// deployment is new.
func storeState(ctx context.Context, tx bun.Tx, before, after *server.State) error {
	if err := storeDeployment(ctx, tx, before, after.Deployment); err != nil {
		return err
	}
	if before == nil {
		before = &server.State{}
	}
	for i := range after.Instances {
		if i >= len(before.Instances) {
			if _, err := tx.NewInsert().Model(&instanceRow{Instance: after.Instances[i]}).Exec(ctx); err != nil {
				return fmt.Errorf("inserting instance %s: %w", after.Instances[i].ID, err)
			}
		}
	}
	for i := range after.Tasks {
		if err := storeTask(ctx, tx, before.Tasks, after.Tasks, after.Tasks[i].ID); err != nil {
			return fmt.Errorf("storing task %s: %w", after.Tasks[i].ID, err)
		}
	}
	return nil
}

// storeDeployment writes the row if it is new or changed. The time of the last
// report alone is written for all deployments at once.
func storeDeployment(ctx context.Context, tx bun.Tx, before *server.State, after server.Deployment) error {
	row := deploymentRow{Deployment: after}
	if before == nil {
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("inserting deployment %s: %w", after.ID, err)
		}
		return nil
	}
	was := before.Deployment
	was.LastReportAt = after.LastReportAt
	if reflect.DeepEqual(was, after) {
		return nil
	}
	if _, err := tx.NewUpdate().Model(&row).Where("id = ?", after.ID).Exec(ctx); err != nil {
		return fmt.Errorf("updating deployment %s: %w", after.ID, err)
	}
	return nil
}

// storeTask writes a task that is new or changed, or whose result is another one
// because a task below it changed.
func storeTask(ctx context.Context, tx bun.Tx, were, are server.Tasks, id string) error {
	before, after, result := were.Find(id), are.Find(id), are.Result(id)
	if before != nil && reflect.DeepEqual(before, after) && were.Result(id) == result {
		return nil
	}
	row, err := rowOfTask(after, result)
	if err != nil {
		return err
	}
	if before == nil {
		_, err = tx.NewInsert().Model(row).
			Value("position", "(SELECT coalesce(max(position), 0) + 1 FROM tasks WHERE deployment_id = ?)", after.DeploymentID).
			Exec(ctx)
		before = &server.Task{}
	} else {
		_, err = tx.NewUpdate().Model(row).ExcludeColumn("position").WherePK().Exec(ctx)
	}
	if err != nil {
		return err
	}
	for i := range after.Steps {
		var was *server.Step
		if i < len(before.Steps) {
			was = &before.Steps[i]
		}
		if err := storeStep(ctx, tx, after.ID, i, was, &after.Steps[i]); err != nil {
			return fmt.Errorf("step %s: %w", after.Steps[i].ID, err)
		}
	}
	return nil
}

func storeStep(ctx context.Context, tx bun.Tx, taskID string, position int, before, after *server.Step) error {
	if before != nil && reflect.DeepEqual(before, after) {
		return nil
	}
	row, err := rowOfStep(taskID, position, after)
	if err != nil {
		return err
	}
	if before == nil {
		_, err = tx.NewInsert().Model(row).Exec(ctx)
		before = &server.Step{}
	} else {
		_, err = tx.NewUpdate().Model(row).WherePK().Exec(ctx)
	}
	if err != nil {
		return err
	}
	for i := range after.Attempts {
		attempt := rowOfAttempt(after.ID, &after.Attempts[i])
		switch {
		case i >= len(before.Attempts):
			_, err = tx.NewInsert().Model(attempt).Exec(ctx)
		case !reflect.DeepEqual(before.Attempts[i], after.Attempts[i]):
			_, err = tx.NewUpdate().Model(attempt).WherePK().Exec(ctx)
		}
		if err != nil {
			return fmt.Errorf("attempt %d: %w", attempt.Number, err)
		}
	}
	return nil
}
