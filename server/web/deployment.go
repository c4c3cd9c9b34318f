// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/styrmin/styrmin/server"
)

// Bounds of what a deployment's page shows.
const (
	maxPods  = 2000
	maxTasks = 20
)

// deploymentView is the page of a deployment.
type deploymentView struct {
	ID, Name    string
	Environment string
	Cluster     string
	Version     string
	Internal    bool
	// Foreign: declared in the cluster, not through the server.
	Foreign bool
	Status  server.DeploymentStatusName
	Tone    tone
	Message string
	Since   moment
	// Silent is when the last report came, where that is too long ago.
	Silent *moment
	// Task is the one at work, else the newest one if that failed.
	Task    *taskView
	Queued  []taskLine
	Compare comparison
	Pods    podsView
	// Conditions are those of the StyrminDeployment, in their order.
	Conditions []conditionView
	Object     string
	History    []taskLine
}

// Gone tells whether nothing of it is left in the cluster.
func (v deploymentView) Gone() bool { return v.Status == server.DeploymentDeleted }

type conditionView struct {
	Type, Status, Reason, Message string
	Tone                          tone
	Since                         moment
}

// deploymentLive is when the deployment was last reported.
type deploymentLive struct {
	Reported *moment
	Silent   bool
	Cluster  string
	Gone     bool
}

// taskLine is a task in a list.
type taskLine struct {
	ID, Title string
	Result    string
	Tone      tone
	Reason    string
	Created   moment
	// Length is how long it took; Running: how long it has been at work.
	Length  string
	Running *moment
}

func (h *handler) deployment(r *http.Request, token server.Token) (*answer, error) {
	return h.deploymentAnswer(r, token, nil)
}

// deploymentAnswer shows the deployment that the address names; refused is the
// form that was, or nil.
func (h *handler) deploymentAnswer(r *http.Request, token server.Token, refused *refusedForm) (*answer, error) {
	view, err := h.Store.DeploymentView(r.Context(), r.PathValue("id"), maxPods, maxTasks)
	if err != nil {
		return nil, err
	}
	clusters, err := h.Store.Clusters(r.Context())
	if err != nil {
		return nil, err
	}
	teller := teller{clock: clock{h.Now()}, timeout: h.ReportTimeout, of: &view.Deployment, tasks: view.Tasks}
	content := teller.deployment(view, clusterName(clusters, view.Deployment.ClusterID), podOrderOf(r.URL.Query()))
	shown := &answer{page: "deployment", title: content.Name, content: content, live: deploymentLive{
		Reported: teller.clock.optional(view.Deployment.LastReportAt), Silent: content.Silent != nil,
		Cluster: content.Cluster, Gone: content.Gone(),
	}}
	if token.Role == server.RoleAdmin {
		shown.aside = actionsOf(view, refused)
	}
	return shown, nil
}

func clusterName(clusters []server.Cluster, id string) string {
	for _, cluster := range clusters {
		if cluster.ID == id {
			return cluster.Name
		}
	}
	return id
}

func (t teller) deployment(view *server.DeploymentView, cluster string, order podOrder) deploymentView {
	deployment := &view.Deployment
	shown := deploymentView{
		ID: deployment.ID, Name: deployment.Name, Environment: deref(deployment.Environment), Cluster: cluster,
		Version: deref(deployment.Version), Internal: deployment.Internal,
		Foreign: deployment.ManagedBy == server.DeploymentManagerCluster,
		Status:  deployment.Status, Tone: toneOfDeployment(deployment.Status),
		Message: deref(deployment.StatusMessage), Since: t.clock.moment(deployment.StatusSince),
		Compare: compare(view), Pods: podsOf(view, order, t.clock),
	}
	if isSilent(deployment, t.clock, t.timeout) {
		shown.Silent = t.clock.optional(deployment.LastReportAt)
	}
	if view.Observed != nil {
		shown.Object = view.Observed.Namespace + "/" + view.Observed.Name
		shown.Conditions = t.conditions(view.Observed.Conditions)
	}
	t.addTasks(&shown, view.Newest)
	return shown
}

func (t teller) conditions(conditions []server.Condition) []conditionView {
	shown := make([]conditionView, len(conditions))
	for i, condition := range conditions {
		shown[i] = conditionView{
			Type: condition.Type, Status: condition.Status, Reason: deref(condition.Reason), Message: deref(condition.Message),
			Tone: toneOfCondition(condition.Status), Since: t.clock.moment(condition.LastTransitionTime),
		}
	}
	return shown
}

func toneOfCondition(status string) tone {
	switch status {
	case "True":
		return toneOK
	case "False":
		return toneBad
	}
	return toneWait
}

// addTasks picks what is at work and lists the rest.
func (t teller) addTasks(shown *deploymentView, newest []string) {
	for i, id := range newest {
		task := t.tasks.Find(id)
		if task.IsHookTask() {
			continue
		}
		line := t.line(task)
		result := t.tasks.Result(id)
		switch {
		case result == server.ResultRunning && task.Status == server.TaskPending:
			shown.Queued = append(shown.Queued, line)
			continue
		case shown.Task == nil && (result == server.ResultRunning || i == 0 && result == server.ResultFailed):
			view := t.task(task)
			shown.Task = &view
		}
		shown.History = append(shown.History, line)
	}
	// The oldest of those that wait is next.
	for i, j := 0, len(shown.Queued)-1; i < j; i, j = i+1, j-1 {
		shown.Queued[i], shown.Queued[j] = shown.Queued[j], shown.Queued[i]
	}
}
