// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/styrmin/styrmin/sdk/sdktest"
)

// shopSpec is an application of three server pods whose upgrade stops and starts
// the server.
func shopSpec(version string) map[string]any {
	return map[string]any{
		"version": version,
		"helmRelease": map[string]any{
			"releaseName": "shop",
			"chart":       map[string]any{"repository": "oci://charts.example.com", "name": "shop", "version": version},
		},
		"components": []any{map[string]any{
			"name": "server", "replicas": 3, "replicasValue": "server.replicas",
			"selector": map[string]any{"matchLabels": map[string]any{"component": "server"}},
		}},
		"jobs": []any{map[string]any{"name": "migrate", "template": map[string]any{"template": map[string]any{}}}},
		"hooks": map[string]any{"upgrade": map[string]any{
			"pre":  []any{map[string]any{"stopComponents": []any{"server"}}},
			"post": []any{map[string]any{"startComponents": []any{"server"}}},
		}},
	}
}

// world is a real server with a cluster and a client.
type world struct {
	*testing.T
	server *sdktest.Server
	agent  *sdktest.Agent
	client *Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	server := sdktest.Start(t)
	return &world{T: t, server: server, agent: server.NewCluster(t, "production"), client: realClient(t, server)}
}

// create asks for a shop.
func (w *world) create(version string) *Task {
	w.Helper()
	return w.must(w.client.Deployments.Create(w.Context(), NewDeployment{
		Name: "shop", ClusterID: w.agent.ClusterID, Environment: "prod", Spec: shopSpec(version),
	}))
}

// created is a shop that runs.
func (w *world) created() (id string) {
	w.Helper()
	task := w.create("2.4.0")
	w.agent.Claim(w).CarryOut()
	w.want(task, "")
	return task.DeploymentID
}

func (w *world) must(task *Task, err error) *Task {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	if task == nil {
		w.Fatal("Nothing changes")
	}
	return task
}

// wait waits for a task as a script does, but looks more often.
func (w *world) wait(id string, options ...WaitOption) *Waited {
	w.Helper()
	waited, err := w.client.Deployments.WaitForTask(w.Context(), id, append([]WaitOption{
		Interval(20 * time.Millisecond), MaxWait(2 * time.Minute),
	}, options...)...)
	if err != nil {
		w.Fatal(err)
	}
	return waited
}

// look waits for a task no longer than for one look that sees it.
func (w *world) look(id string) *Waited {
	w.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		waited := w.wait(id, MaxWait(0))
		if waited.Task != nil {
			return waited
		}
		if time.Now().After(end) {
			w.Fatal("No look has seen the task")
		}
	}
}

// want waits for a task and checks why it failed; empty: it did not.
func (w *world) want(task *Task, reason string) *Waited {
	w.Helper()
	waited := w.wait(task.ID)
	if waited.Succeeded != (reason == "") || waited.FailureReason != reason {
		w.Errorf("the task ended as %t, %q, want %q", waited.Succeeded, waited.FailureReason, reason)
	}
	if waited.Task.ID != task.ID || waited.Deployment.ID != task.DeploymentID {
		w.Errorf("the outcome is about task %s and deployment %s", waited.Task.ID, waited.Deployment.ID)
	}
	return waited
}

func TestACreationSucceedsWhenTheDeploymentRuns(t *testing.T) {
	w := newWorld(t)
	task := w.create("2.4.0")
	if waited := w.look(task.ID); !waited.TimedOut || waited.FailureReason != "wait timeout" {
		t.Errorf("before anything happened: %+v", waited)
	}
	flow := w.agent.Claim(t)
	flow.Write()
	flow.Finish()
	flow.Report("CreatingHelmRelease", "Deploying", "")
	if waited := w.look(task.ID); !waited.TimedOut || waited.Task.Status != TaskSuccess {
		t.Errorf("when only its flow has ended: %+v", waited)
	}
	flow.Operate()
	waited := w.want(task, "")
	if waited.Deployment.Status != StatusRunning {
		t.Errorf("the deployment is %s", waited.Deployment.Status)
	}
}

func TestAnUpgradeSucceedsAfterItsHooks(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	task := w.must(w.client.Deployments.UpdateVersion(t.Context(), id, "2.5.0"))
	var middle atomic.Bool
	var early, looked atomic.Int32
	done := make(chan *Waited)
	go func() {
		waited, err := w.client.Deployments.WaitForTask(t.Context(), task.ID, Interval(time.Millisecond),
			OnProgress(func(p Progress) {
				if middle.Load() && p.Deployment.Status == StatusRunning && p.Task.Result == ResultRunning {
					early.Add(1)
				}
				looked.Add(1)
			}))
		if err != nil {
			t.Error(err)
		}
		done <- waited
	}()
	flow := w.agent.Claim(t)
	flow.Run("Pre-upgrade hook: stop server")
	// A look that began before the hook's write may still come in after it; the
	// second one from now on did not.
	for from := looked.Load(); looked.Load() < from+2; {
		select {
		case waited := <-done:
			t.Fatalf("the wait ended in the middle: %+v", waited)
		case <-time.After(time.Millisecond):
		}
	}
	middle.Store(true)
	flow.Write()
	flow.Operate()
	flow.Run("Post-upgrade hook: start server")
	// A look reads the task first: it may see it at work, and then the deployment of
	// after its end.
	middle.Store(false)
	flow.Finish()
	flow.Report("Ready", "Running", "")
	waited := <-done
	if waited == nil || !waited.Succeeded {
		t.Fatalf("the upgrade ended as %+v", waited)
	}
	if n := early.Load(); n > 0 {
		t.Errorf("RUNNING was seen %d times in the middle of the upgrade", n)
	}
	hook := waited.Task.Steps[0].Tasks
	if len(hook) != 1 || hook[0].Kind != TaskStopComponents || hook[0].Result != ResultSucceeded || len(hook[0].Steps) != 5 {
		t.Errorf("the task of the first hook: %+v", hook)
	}
}

func TestAFailedStepIsTheReason(t *testing.T) {
	w := newWorld(t)
	task := w.create(sdktest.BrokenVersion)
	w.agent.Claim(t).CarryOut()
	w.want(task, `step "Install or upgrade the HelmRelease" failed: Helm upgrade failed: timed out waiting for the condition; `+
		`pod prod-shop-server-0: container server ImagePullBackOff (Back-off pulling image "registry.example/server"); `+
		`pod prod-shop-server-1: container server ImagePullBackOff (Back-off pulling image "registry.example/server"); `+
		`pod prod-shop-server-2: container server ImagePullBackOff (Back-off pulling image "registry.example/server")`)
}

func TestAFailedStepOfAHookTaskIsTheReason(t *testing.T) {
	w := newWorld(t)
	spec := shopSpec("2.4.0")
	spec["jobs"] = []any{map[string]any{"name": "fail", "template": map[string]any{"template": map[string]any{}}}}
	spec["hooks"] = map[string]any{"upgrade": map[string]any{"pre": []any{map[string]any{"runJob": "fail"}}}}
	task := w.must(w.client.Deployments.Create(t.Context(), NewDeployment{
		Name: "shop", ClusterID: w.agent.ClusterID, Environment: "prod", Spec: spec,
	}))
	w.agent.Claim(t).CarryOut()
	w.want(task, "")
	upgrade := w.must(w.client.Deployments.UpdateVersion(t.Context(), task.DeploymentID, "2.5.0"))
	w.agent.Claim(t).CarryOut()
	w.want(upgrade, `step "Run job fail" failed: job fail: pod fail-1: container fail Error (exit code 1)`)
}

func TestAFlowThatFailsBetweenTwoStepsIsTheReason(t *testing.T) {
	w := newWorld(t)
	task := w.create("2.4.0")
	w.agent.Claim(t).Abort("worker lost")
	w.want(task, fmt.Sprintf("task %s failed: worker lost", task.ID))
}

func TestALaterTaskIsTheReason(t *testing.T) {
	w := newWorld(t)
	task := w.create("2.4.0")
	first := w.agent.Claim(t)
	first.Write()
	first.Finish()
	first.Report("CreatingHelmRelease", "Deploying", "")
	second := w.must(w.client.Deployments.Scale(t.Context(), task.DeploymentID, map[string]int{"server": 5}))
	w.agent.Claim(t).CarryOut()
	w.want(task, fmt.Sprintf("task %s was superseded by a later task of the deployment", task.ID))
	w.want(second, "")
}

func TestAnotherEndStatusIsTheReason(t *testing.T) {
	w := newWorld(t)
	task := w.create("2.4.0")
	flow := w.agent.Claim(t)
	flow.Write()
	flow.Finish()
	flow.Report("Ready", "Error", "pods of component server fail")
	w.want(task, "deployment status is failed, expected running")
}

func TestADeletionSucceedsWhenTheDeploymentIsDeleted(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	task := w.must(w.client.Deployments.Delete(t.Context(), id))
	if again := w.must(w.client.Deployments.Delete(t.Context(), id)); again.ID != task.ID {
		t.Errorf("a second deletion is task %s, the first %s", again.ID, task.ID)
	}
	flow := w.agent.Claim(t)
	flow.Run("Request the deletion")
	flow.Finish()
	flow.Report("Deleting", "Deleting", "")
	if waited := w.look(task.ID); !waited.TimedOut {
		t.Errorf("before it is gone: %+v", waited)
	}
	flow.Operate()
	if waited := w.want(task, ""); waited.Deployment.Status != StatusDeleted {
		t.Errorf("the deployment is %s", waited.Deployment.Status)
	}
}

func TestComponentsAndJobsAreStartedAndStopped(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	for name, ask := range map[string]func() (*Task, error){
		"stop": func() (*Task, error) { return w.client.Deployments.StopComponents(t.Context(), id, []string{"server"}) },
		"start": func() (*Task, error) {
			return w.client.Deployments.StartComponents(t.Context(), id, []string{"server"})
		},
		"job": func() (*Task, error) { return w.client.Deployments.RunJob(t.Context(), id, "migrate") },
	} {
		task := w.must(ask())
		w.agent.Claim(t).CarryOut()
		if waited := w.want(task, ""); !waited.Succeeded {
			t.Errorf("%s: %+v", name, waited)
		}
	}
}

func TestG01WhatChangesNothingIsNoTask(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	for name, ask := range map[string]func() (*Task, error){
		"update":  func() (*Task, error) { return w.client.Deployments.Update(t.Context(), id, shopSpec("2.4.0")) },
		"scale":   func() (*Task, error) { return w.client.Deployments.Scale(t.Context(), id, map[string]int{"server": 3}) },
		"version": func() (*Task, error) { return w.client.Deployments.UpdateVersion(t.Context(), id, "2.4.0") },
	} {
		if task, err := ask(); task != nil || err != nil {
			t.Errorf("%s: got %v, %v, want nil", name, task, err)
		}
	}
	task := w.must(w.client.Deployments.Update(t.Context(), id, shopSpec("2.4.1")))
	if task.Kind != TaskUpdate {
		t.Errorf("the update is a task of kind %s", task.Kind)
	}
}

// TestARestartedServerDoesNotEndAWait restarts it while the wait goes on, and
// lets the change finish only then.
func TestARestartedServerDoesNotEndAWait(t *testing.T) {
	w := newWorld(t)
	task := w.create("2.4.0")
	flow := w.agent.Claim(t)
	flow.Write()
	looks, missed := make(chan Progress, 1000), 0
	done := make(chan *Waited)
	go func() {
		waited, err := w.client.Deployments.WaitForTask(t.Context(), task.ID, Interval(5*time.Millisecond),
			OnProgress(func(p Progress) {
				select {
				case looks <- p:
				default: // Nobody reads them any more.
				}
			}))
		if err != nil {
			t.Error(err)
		}
		done <- waited
	}()
	<-looks
	w.server.Suspend(t)
	for p := range looks {
		if errors.Is(p.Err, ErrUnavailable) {
			missed++
			break
		}
	}
	w.server.Resume(t)
	flow.Finish()
	flow.Operate()
	if waited := <-done; waited == nil || !waited.Succeeded || missed == 0 {
		t.Errorf("the wait ended as %+v after %d looks without an answer", waited, missed)
	}
}

func TestReadingTellsWhatIsDeclaredAndWhatIsObserved(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	deployment, err := w.client.Deployments.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if deployment.Status != StatusRunning || deployment.Environment != "prod" || deployment.Version != "2.4.0" ||
		deployment.ManagedBy != ManagedByServer || deployment.StatusSince.IsZero() || deployment.LastReportAt.IsZero() {
		t.Errorf("the deployment: %+v", deployment)
	}
	if !strings.Contains(string(deployment.Instance.Spec), `"releaseName"`) || deployment.Instance.ID != deployment.Observed.InstanceID {
		t.Errorf("the instance: %+v, observed: %+v", deployment.Instance, deployment.Observed)
	}
	if got := deployment.Observed; got.Phase != "Ready" || got.DisplayState != "Running" || len(got.Conditions) != 4 ||
		len(got.Components) != 1 || got.Components[0] != (Component{Name: "server", Desired: 3, Ready: 3, State: "Running"}) {
		t.Errorf("observed: %+v", got)
	}
}

func TestListsHoldWhatTheirFilterPicks(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	listed, err := w.client.Deployments.List(t.Context(), DeploymentFilter{Name: "shop", ClusterID: w.agent.ClusterID, Status: StatusRunning})
	if err != nil || len(listed) != 1 || listed[0].ID != id || listed[0].Instance.Spec != nil {
		t.Errorf("the list: %+v, %v", listed, err)
	}
	if none, err := w.client.Deployments.List(t.Context(), DeploymentFilter{Environment: "test"}); err != nil || len(none) != 0 {
		t.Errorf("the list of another environment: %+v, %v", none, err)
	}
}

func TestPodsAndTasksOfADeploymentAreRead(t *testing.T) {
	w := newWorld(t)
	id := w.created()
	pods, err := w.client.Deployments.Pods(t.Context(), id)
	if err != nil || len(pods) != 3 || pods[0].Component != "server" || !pods[0].Ready || pods[0].Containers[0].State != "RUNNING" {
		t.Errorf("the pods: %+v, %v", pods, err)
	}
	if unhealthy, err := w.client.Deployments.UnhealthyPods(t.Context(), id); err != nil || len(unhealthy) != 0 {
		t.Errorf("the unhealthy pods: %+v, %v", unhealthy, err)
	}
	tasks, err := w.client.Tasks.List(t.Context(), id, 5)
	if err != nil || len(tasks) != 1 || tasks[0].Kind != TaskCreate || len(tasks[0].Steps) != 5 {
		t.Errorf("the tasks: %+v, %v", tasks, err)
	}
	task, err := w.client.Tasks.Get(t.Context(), tasks[0].ID)
	if err != nil || task.Result != ResultSucceeded || task.Steps[0].Attempts[0].Number != 1 {
		t.Errorf("the task: %+v, %v", task, err)
	}
}

func TestClustersAndTokensAreManaged(t *testing.T) {
	w := newWorld(t)
	created, err := w.client.Clusters.Create(t.Context(), "staging")
	if err != nil || created.AgentToken == "" || created.Cluster.Name != "staging" {
		t.Fatalf("the cluster: %v", err)
	}
	rotated, err := w.client.Clusters.RotateToken(t.Context(), created.Cluster.ID)
	if err != nil || rotated.AgentToken == created.AgentToken {
		t.Errorf("the new token is the old one, %v", err)
	}
	clusters, err := w.client.Clusters.List(t.Context())
	if err != nil || len(clusters) != 2 {
		t.Errorf("the clusters: %+v, %v", clusters, err)
	}
	viewer, err := w.client.Tokens.Create(t.Context(), "wallboard", RoleViewer)
	if err != nil || viewer.Secret == "" || viewer.Token.Role != RoleViewer {
		t.Fatalf("the token: %v", err)
	}
	reader, err := New(w.server.URL, WithToken(viewer.Secret))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Clusters.List(t.Context()); err != nil {
		t.Errorf("a viewer reads: %v", err)
	}
	if _, err := reader.Clusters.Create(t.Context(), "mine"); !errors.Is(err, ErrForbidden) {
		t.Errorf("a viewer's cluster: %v", err)
	}
	if err := w.client.Tokens.Revoke(t.Context(), viewer.Token.ID); err != nil {
		t.Error(err)
	}
	if _, err := reader.Clusters.List(t.Context()); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("after it was revoked: %v", err)
	}
	if tokens, err := w.client.Tokens.List(t.Context()); err != nil || len(tokens) != 1 {
		t.Errorf("the tokens: %+v, %v", tokens, err)
	}
	info, err := w.client.Server(t.Context())
	if err != nil || info.Version == "" || info.Time.IsZero() {
		t.Errorf("the server: %+v, %v", info, err)
	}
}
