// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/styrmin/styrmin/server"
)

// TestAReadSeesOneMoment: a task that ends between two statements of a read is as
// it was before for all of them, or as it is after. A failure without its text,
// or a task without its steps, would be neither.
func TestAReadSeesOneMoment(t *testing.T) {
	for name, read := range map[string]func(w *world, task *server.Task) *server.Task{
		"of a task": func(w *world, task *server.Task) *server.Task { return w.task(task.ID) },
		"of the newest tasks": func(w *world, task *server.Task) *server.Task {
			tasks, err := w.store.TasksOf(w.Context(), []server.Deployment{{ID: task.DeploymentID}}, 1)
			w.must(err)
			return tasks[task.DeploymentID].Tasks.Find(task.ID)
		},
		"of a deployment": func(w *world, task *server.Task) *server.Task {
			view, err := w.store.DeploymentView(w.Context(), task.DeploymentID, 1, 1)
			w.must(err)
			return view.Tasks.Find(task.ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(w *world) {
				id := w.create("shop").ID
				w.claim("worker")
				w.must(w.store.StartStep(w.Context(), w.agent, id, "worker", w.task(id).Steps[0].ID))
				before := w.task(id)
				failed := false // The calls below read, too.
				w.store.AfterEachRead(func() {
					if failed {
						return
					}
					failed = true
					reason := "no chart"
					w.must(w.store.FinishStep(w.Context(), w.agent, id, "worker", before.Steps[0].ID, &reason))
					w.must(w.store.FinishTask(w.Context(), w.agent, id, "worker", server.TaskFailed, &reason))
				})
				w.want("the task while it fails", before, read(w, before))
				after := w.task(id)
				w.want("its status after that", server.TaskFailed, after.Status)
				w.want("its step after that", server.StepFailed, after.Steps[0].Status)
			})
		})
	}
}
