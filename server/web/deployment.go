// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"slices"

	"github.com/styrmin/styrmin/server"
)

// Bounds of what a deployment's page shows.
const (
	maxPods  = 2000
	maxTasks = 20
)

// deploymentView is what the page tells of a deployment below its head.
type deploymentView struct {
	Name string
	// Foreign: declared in the cluster, not through the server.
	Foreign bool
	// Task is the one at work, else the newest one if that failed.
	Task    *taskView
	Queued  []taskLine
	Compare comparison
	Pods    podsView
	// Conditions are those of the StyrminDeployment, in their order.
	Conditions []conditionView
	History    []taskLine
	// TaskCount is how many tasks there are; more than ShownTasks where not all are
	// shown.
	TaskCount, ShownTasks int
}

type conditionView struct {
	Type, Status, Reason, Message string
	Tone                          tone
	Since                         moment
}

// deploymentHead is what one must know first: whether it runs, since when, what
// is wrong, and whether one can believe it.
type deploymentHead struct {
	Name        string
	Environment string
	Cluster     string
	Version     string
	// Object is the StyrminDeployment that was last reported.
	Object   string
	Internal bool
	Foreign  bool
	Status   server.DeploymentStatusName
	Tone     tone
	Message  string
	Since    moment
	Reported *moment
	// Silent: the last report is too long ago.
	Silent bool
	// PodsSilent: that of the cluster's pods is, though the deployment is reported;
	// PodsReported is when it came, nil for never.
	PodsSilent   bool
	PodsReported *moment
	// Back: it is deleted, and yet the cluster has its object.
	Back bool
}

// Gone tells whether nothing of it is left in the cluster.
func (v deploymentHead) Gone() bool { return v.Status == server.DeploymentDeleted && !v.Back }

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
	shown := &answer{
		page: "deployment", title: view.Deployment.Name + ": " + string(view.Deployment.Status),
		content: teller.deployment(view, podOrderOf(r.URL.Query())),
		live:    teller.head(view, clusters),
	}
	if token.Role == server.RoleAdmin {
		shown.aside = actionsOf(view, refused)
	}
	return shown, nil
}

func (t teller) head(view *server.DeploymentView, clusters []server.Cluster) deploymentHead {
	deployment := &view.Deployment
	head := deploymentHead{
		Name: deployment.Name, Environment: deref(deployment.Environment), Version: deref(deployment.Version),
		Internal: deployment.Internal, Foreign: deployment.ManagedBy == server.DeploymentManagerCluster,
		Status: deployment.Status, Tone: toneOfDeployment(deployment.Status), Message: deref(deployment.StatusMessage),
		Since: t.clock.moment(deployment.StatusSince), Reported: t.clock.optional(deployment.LastReportAt),
		Silent: isSilent(deployment, t.clock, t.timeout),
	}
	if view.Observed != nil {
		head.Object = view.Observed.Namespace + "/" + view.Observed.Name
		head.Back = deployment.Status == server.DeploymentDeleted && view.Observed.DeletionRequestedAt == nil
	}
	for i := range clusters {
		if cluster := &clusters[i]; cluster.ID == deployment.ClusterID {
			head.Cluster = cluster.Name
			// A cluster is known as of the older half of its reports.
			head.PodsSilent = !head.Silent && len(view.Pods) > 0 && t.clock.olderThan(cluster.SilentSince(), t.timeout)
			head.PodsReported = t.clock.optional(cluster.LastReportAt)
		}
	}
	return head
}

func (t teller) deployment(view *server.DeploymentView, order podOrder) deploymentView {
	shown := deploymentView{
		Name: view.Deployment.Name, Foreign: view.Deployment.ManagedBy == server.DeploymentManagerCluster,
		Compare: compare(view), Pods: podsOf(view, order, t.clock), TaskCount: view.TaskCount, ShownTasks: len(view.Newest),
	}
	if view.Observed != nil {
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
	for _, id := range newest {
		task := t.tasks.Find(id)
		result := t.tasks.Result(id)
		if result == server.ResultRunning && task.Status == server.TaskPending {
			shown.Queued = append(shown.Queued, t.line(task))
			continue
		}
		newestFailed := len(shown.History) == 0 && result == server.ResultFailed
		if shown.Task == nil && (result == server.ResultRunning || newestFailed) {
			view := t.task(task)
			shown.Task = &view
		}
		shown.History = append(shown.History, t.line(task))
	}
	// The oldest of those that wait is next.
	slices.Reverse(shown.Queued)
}
