// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// rollOut runs the flow of the deployment's waiting task.
func (w *world) rollOut(id string) server.Instance {
	w.Helper()
	w.want("the claimed task", id, w.claim("worker"))
	instance := w.writeOf("worker", id)
	w.finish("worker", id)
	return instance
}

func (w *world) prune() store.Pruned {
	w.Helper()
	pruned, err := w.store.Prune(w.Context())
	w.must(err)
	return pruned
}

func (w *world) listed(status *server.DeploymentStatusName) []string {
	w.Helper()
	deployments, err := w.store.Deployments(w.Context(), store.DeploymentFilter{Status: status})
	w.must(err)
	ids := make([]string, len(deployments))
	for i := range deployments {
		ids[i] = deployments[i].ID
	}
	return ids
}

func TestDeletedDeploymentsAreListedOnRequestAndGoneInTheEnd(t *testing.T) {
	onEach(t, func(w *world) {
		w.deployments(object("by-hand"), object("stays"))
		w.deployments(object("stays"))
		deleted := server.DeploymentDeleted
		w.want("the deployments", []string{"uid-stays"}, w.listed(nil))
		w.want("the deleted ones", []string{"uid-by-hand"}, w.listed(&deleted))

		w.clock.Advance(store.DeletedDays * 24 * time.Hour)
		w.want("what is pruned in time", store.Pruned{}, w.prune())
		w.clock.Advance(time.Second)
		w.want("what is pruned after it", store.Pruned{Deployments: 1}, w.prune())
		w.want("the deleted ones", []string{}, w.listed(&deleted))
		w.want("the deployments", []string{"uid-stays"}, w.listed(nil))
		// One that comes back is adopted again.
		w.deployments(object("by-hand"), object("stays"))
		w.want("the deployments", []string{"uid-by-hand", "uid-stays"}, w.listed(nil))
	})
}

func TestADeploymentKeepsItsNewestTasks(t *testing.T) {
	onEach(t, func(w *world) {
		create := w.create("shop")
		w.rollOut(create.ID)
		var last *server.Task
		const changes = store.KeptTasks + 10
		for i := range changes {
			task, err := w.scale(create.DeploymentID, i+2, nil)
			w.must(err)
			last = task
			w.rollOut(task.ID)
		}
		// The creation and the first ten changes are too many, with their instances.
		w.want("what is pruned", store.Pruned{Tasks: 11, Instances: 11}, w.prune())
		w.want("what is pruned again", store.Pruned{}, w.prune())
		_, err := w.store.Task(w.Context(), admin(user), create.ID)
		w.wantCode(err, server.CodeNotFound)
		w.want("the newest task", server.StepRunning, w.task(last.ID).Steps[1].Status)
		if _, err := w.scale(create.DeploymentID, 1, nil); err != nil {
			w.Errorf("a change after it: %v", err)
		}
	})
}

// TestWhatRulesNeedIsNotPruned: the task that rolled out what runs, and the
// deletion that reports move, stay however many came after.
func TestWhatRulesNeedIsNotPruned(t *testing.T) {
	onEach(t, func(w *world) {
		create := w.create("shop")
		instance := w.rollOut(create.ID)
		for range store.KeptTasks + 1 {
			task, err := w.store.RequestChange(w.Context(), admin(user), create.DeploymentID, server.Change{Kind: server.TaskDelete}, nil)
			w.must(err)
			w.claim("worker")
			w.must(w.store.FinishTask(w.Context(), w.agent, task.ID, "worker", server.TaskFailed, nil))
		}
		w.want("what is pruned", store.Pruned{Tasks: 1}, w.prune())
		seen := object("shop")
		seen.DeploymentID, seen.InstanceID = create.DeploymentID, instance.ID
		w.deployments(seen)
		w.want("the status", server.DeploymentRunning, w.deployment(create.DeploymentID).Status)
		w.want("the creation", server.ResultSucceeded, resultOf(w, create.ID))
	})
}

func resultOf(w *world, id string) server.TaskResult {
	family, err := w.store.Task(w.Context(), admin(user), id)
	w.must(err)
	return family.Tasks.Result(id)
}
