// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/styrmin/styrmin/server"
)

func TestADeploymentIsViewedWhole(t *testing.T) {
	onEach(t, func(w *world) {
		task := w.create("shop")
		_, err := w.store.DeploymentView(w.Context(), "unknown", 10, 10)
		w.want("an unknown one", server.CodeNotFound, server.CodeOf(err))
		view, err := w.store.DeploymentView(w.Context(), task.DeploymentID, 10, 10)
		w.must(err)
		w.want("before anything is reported", &server.DeploymentView{
			Deployment: w.deployment(task.DeploymentID), Pods: []server.PodStatus{},
			Tasks: server.Tasks{*w.task(task.ID)}, Newest: []string{task.ID}, TaskCount: 1,
		}, view)

		w.want("the claim", task.ID, w.claim("worker"))
		instance := w.writeOf("worker", task.ID)
		reported := object("shop")
		reported.Name, reported.DeploymentID, reported.InstanceID = "prod-shop", task.DeploymentID, instance.ID
		w.deployments(reported)
		sick := pod("z")
		sick.Ready = false
		w.pods(whole("prod-shop", "d", pod("a"), sick))
		w.deployments(reported)

		view, err = w.store.DeploymentView(w.Context(), task.DeploymentID, 1, 10)
		w.must(err)
		w.want("the declared instance", instance.ID, view.Declared.ID)
		w.want("the reported instance", view.Declared, view.Reported)
		w.want("the observed object", "prod-shop", view.Observed.Name)
		w.want("the only pod that was asked for", "z", view.Pods[0].Name)
		w.want("the pods", []int{1, 2}, []int{len(view.Pods), view.PodCount})

		deployment, tasks, err := w.store.TaskView(w.Context(), task.ID)
		w.must(err)
		w.want("the task's deployment", w.deployment(task.DeploymentID), deployment)
		w.want("the task's family", server.Tasks{*w.task(task.ID)}, tasks)
	})
}
