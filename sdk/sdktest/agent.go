// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// Agent is the agent of a cluster: it runs the flows of tasks and reports what
// it pretends to see. Its methods say exactly what happens; Work lets it carry
// out whatever comes.
type Agent struct {
	// ClusterID is the cluster's id on the server.
	ClusterID string

	server   *Server
	token    string
	session  string
	sequence int
	// objects are the StyrminDeployments of the cluster, by deployment id.
	objects map[string]*object
	// settled are those who wait until nothing is left to do.
	settled chan chan struct{}
}

// object is a StyrminDeployment and its pods.
type object struct {
	id, name, instance           string
	spec                         spec
	phase, displayState, message string
	conditions                   []any
	pods                         []any
}

// spec is what the agent reads of a StyrminDeployment's spec.
type spec struct {
	Environment     string
	TargetNamespace string
	Version         string
	Components      []struct {
		Name     string
		Replicas *int
		Running  *bool
	}
}

// assignment is a claimed task.
type assignment struct {
	Task struct {
		ID, Kind, DeploymentID, InstanceID string
		Steps                              []step
	}
	Namespace, Name string
}

type step struct{ ID, Name, Kind, Status string }

// worker is the id that the agent claims tasks with.
const worker = "agent-0"

// The steps that the flow itself runs.
const (
	stepWrite   = "Write the StyrminDeployment" //nolint:gosec // It is no credential.
	stepRequest = "Request the deletion"
)

// NewCluster registers a cluster and opens its agent's session.
func (s *Server) NewCluster(t testing.TB, name string) *Agent {
	t.Helper()
	a := &Agent{server: s, objects: map[string]*object{}, settled: make(chan chan struct{}, 16)}
	var created struct {
		CreateCluster struct {
			AgentToken string
			Cluster    struct{ ID string }
		}
	}
	must(t, s.do(t.Context(), s.AdminToken, `mutation ($n: String!) { createCluster(input: {name: $n}) { agentToken cluster { id } } }`,
		map[string]any{"n": name}, &created))
	a.ClusterID, a.token = created.CreateCluster.Cluster.ID, created.CreateCluster.AgentToken
	var opened struct{ OpenReportSession struct{ ID string } }
	must(t, a.do(t.Context(), `mutation ($u: String!) {
		openReportSession(input: {clusterUid: $u, agentId: "agent-0", agentVersion: "v1.0.0"}) { id } }`,
		map[string]any{"u": "uid-" + name}, &opened))
	a.session = opened.OpenReportSession.ID
	return a
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (a *Agent) do(ctx context.Context, query string, variables map[string]any, answer any) error {
	return a.server.do(ctx, a.token, query, variables, answer)
}

// claim takes the next task, or nil.
func (a *Agent) claim(ctx context.Context) (*assignment, error) {
	var answer struct{ ClaimTask *assignment }
	err := a.do(ctx, `mutation ($c: ID!, $w: ID!) { claimTask(clusterId: $c, workerId: $w, leaseSeconds: 600) {
		namespace name task { id kind deploymentId instanceId steps { id name kind status } } } }`,
		map[string]any{"c": a.ClusterID, "w": worker}, &answer)
	return answer.ClaimTask, err
}

// call makes a call of the flow contract about a task.
func (a *Agent) call(ctx context.Context, call, task string, variables map[string]any, answer any) error {
	all := map[string]any{"t": task, "w": worker}
	maps.Copy(all, variables)
	return a.do(ctx, call, all, answer)
}

func (a *Agent) startStep(ctx context.Context, task, step string) error {
	return a.call(ctx, `mutation ($t: ID!, $w: ID!, $s: ID!) { startStep(taskId: $t, workerId: $w, stepId: $s) { id } }`,
		task, map[string]any{"s": step}, &struct{}{})
}

// finishStep ends a step, with an error where failure is not empty.
func (a *Agent) finishStep(ctx context.Context, task, step, failure string) error {
	variables := map[string]any{"s": step}
	if failure != "" {
		variables["e"] = failure
	}
	return a.call(ctx, `mutation ($t: ID!, $w: ID!, $s: ID!, $e: String) { finishStep(taskId: $t, workerId: $w, stepId: $s, error: $e) { id } }`,
		task, variables, &struct{}{})
}

// finishTask ends a flow: SUCCESS, or FAILED with a message.
func (a *Agent) finishTask(ctx context.Context, task, status, message string) error {
	variables := map[string]any{"status": status}
	if message != "" {
		variables["m"] = message
	}
	return a.call(ctx, `mutation ($t: ID!, $w: ID!, $status: TaskStatus!, $m: String) {
		finishTask(taskId: $t, workerId: $w, status: $status, message: $m) { id } }`, task, variables, &struct{}{})
}

// write records the write of a task's spec, and makes it the object of the
// cluster, of which the operator knows nothing yet.
func (a *Agent) write(ctx context.Context, task *assignment) error {
	var answer struct {
		RecordSpecWrite struct {
			ID, DeploymentID string
			Spec             spec
		}
	}
	err := a.call(ctx, `mutation ($t: ID!, $w: ID!) { recordSpecWrite(taskId: $t, workerId: $w) { id deploymentId spec } }`,
		task.Task.ID, nil, &answer)
	if err != nil {
		return err
	}
	written := answer.RecordSpecWrite
	o := a.objects[written.DeploymentID]
	if o == nil {
		o = &object{id: written.DeploymentID, name: task.Name}
		a.objects[written.DeploymentID] = o
	}
	o.instance, o.spec = written.ID, written.Spec
	o.at(phaseOf("CreatingPrerequisites"))
	return nil
}

// report sends a snapshot of all objects and their pods.
func (a *Agent) report(ctx context.Context) error {
	a.sequence++
	now := time.Now().UTC().Format(time.RFC3339Nano)
	header := map[string]any{"sessionId": a.session, "sequence": a.sequence, "observedAt": now, "sentAt": now}
	namespaces, deployments := make([]any, 0, len(a.objects)), make([]any, 0, len(a.objects))
	for _, id := range slices.Sorted(maps.Keys(a.objects)) {
		o := a.objects[id]
		namespaces = append(namespaces, map[string]any{
			"namespace": o.namespace(), "digest": fmt.Sprint(a.sequence), "pods": o.pods,
		})
		deployments = append(deployments, o.row())
	}
	var answer struct {
		ReportPodStatuses        struct{ Rejected []any }
		ReportDeploymentStatuses struct{ Rejected []any }
	}
	err := a.do(ctx, `mutation ($r: ReportHeader!, $n: [NamespacePodsInput!]!, $d: [DeploymentStatusInput!]) {
		reportPodStatuses(report: $r, namespaces: $n) { rejected { name reason } }
		reportDeploymentStatuses(report: $r, deployments: $d) { rejected { name reason } } }`,
		map[string]any{"r": header, "n": namespaces, "d": deployments}, &answer)
	if rejected := slices.Concat(answer.ReportPodStatuses.Rejected, answer.ReportDeploymentStatuses.Rejected); err == nil && len(rejected) > 0 {
		text, _ := json.Marshal(rejected)
		err = fmt.Errorf("the report was rejected: %s", text)
	}
	return err
}
