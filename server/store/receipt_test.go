// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

// requestDeletion has the worker record the deletion of a deployment.
func (w *world) requestDeletion(deploymentID string) {
	w.Helper()
	removal, err := w.store.RequestChange(w.Context(), admin(user), deploymentID, server.Change{Kind: server.TaskDelete}, nil)
	w.must(err)
	w.want("the claim", removal.ID, w.claim("worker"))
	w.must(w.store.StartStep(w.Context(), w.agent, removal.ID, "worker", removal.Steps[0].ID))
	w.must(w.store.RecordDeletionRequest(w.Context(), w.agent, removal.ID, "worker"))
}

// TestR9AnAbsenceFromBeforeTheDeletionRequestSaysNothing: the report came in
// before the request was recorded, and waited for its turn until after it.
func TestR9AnAbsenceFromBeforeTheDeletionRequestSaysNothing(t *testing.T) {
	onEach(t, func(w *world) {
		task := w.create("shop")
		w.claim("worker")
		w.writeOf("worker", task.ID)
		w.finish("worker", task.ID)
		absence := func(came time.Time) server.DeploymentReport {
			header := w.header()
			header.ReceivedAt = came
			return server.DeploymentReport{Header: header, Deployments: []server.DeploymentStatus{}}
		}
		came := w.clock.Advance(5 * time.Second)
		w.clock.Advance(5 * time.Second)
		w.requestDeletion(task.DeploymentID)
		w.clock.Advance(5 * time.Second)
		w.deploymentReport(absence(came))
		w.want("the status", server.DeploymentDeleting, w.deployment(task.DeploymentID).Status)
		w.podReport(server.PodReport{Header: w.headerOf(1)})
		w.want("the cluster's last report", &came, w.lastReport())

		w.deploymentReport(absence(w.clock.Now()))
		w.want("the status by an absence from after it", server.DeploymentDeleted, w.deployment(task.DeploymentID).Status)
	})
}
