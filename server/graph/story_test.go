// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// play is one deployment seen from outside: a user who changes it, a worker that
// runs its flows and a reporter that tells of it, all through the API.
type play struct {
	*api
	deployment string
	session    string
	sequence   int
	// sick is the pod that reports show as failing, or nil.
	sick map[string]any
}

const (
	write    = "Write the StyrminDeployment"
	request  = "Request the deletion"
	install  = "Install or upgrade the HelmRelease"
	preHook  = "Pre-upgrade hook: stop server"
	postHook = "Post-upgrade hook: start server"
)

const (
	taskFields = `id kind status result failureReason message instanceId parentTaskId
		steps { id name kind status error notice attempts { number status } tasks { id } }`
	worker = "worker-1"
)

func shopSpec(version string) map[string]any {
	return map[string]any{
		"version": version,
		"helmRelease": map[string]any{
			"releaseName": "shop", "chart": map[string]any{"repository": "oci://charts", "name": "shop", "version": version},
		},
		"components": []any{map[string]any{
			"name": "server", "replicas": 3, "replicasValue": "server.replicas", "selector": map[string]any{},
		}},
		"jobs": []any{map[string]any{"name": "migrate", "template": map[string]any{"template": map[string]any{"spec": map[string]any{}}}}},
		"hooks": map[string]any{"upgrade": map[string]any{
			"pre":  []any{map[string]any{"stopComponents": []any{"server"}}},
			"post": []any{map[string]any{"startComponents": []any{"server"}}},
		}},
	}
}

// newPlay creates the deployment; its task waits for a worker.
func newPlay(t *testing.T, url string) (p *play, create string) {
	t.Helper()
	p = &play{api: newAPI(t, url, Options{})}
	p.session = p.api.session(server.RoleAgent)
	data := p.data(server.RoleAdmin, `mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) { id deploymentId } }`,
		map[string]any{"input": map[string]any{
			"name": "shop", "environment": "prod", "clusterId": p.cluster.ID, "spec": shopSpec("2.4.0"),
		}})
	task := data["createDeployment"].(map[string]any)
	p.deployment = task["deploymentId"].(string)
	return p, task["id"].(string)
}

// change asks for a change of the deployment and returns its task.
func (p *play) change(call string, variables map[string]any) string {
	p.Helper()
	task := p.tryChange(call, variables)
	if task == nil {
		p.Fatalf("%s changed nothing", call)
	}
	return task.(map[string]any)["id"].(string)
}

func (p *play) tryChange(call string, variables map[string]any) any {
	p.Helper()
	if variables == nil {
		variables = map[string]any{}
	}
	variables["d"] = p.deployment
	return p.data(server.RoleAdmin, call, variables)["change"]
}

func (p *play) scale(replicas int) string {
	p.Helper()
	return p.change(`mutation ($d: ID!, $n: Int!) { change: scaleDeployment(id: $d, replicas: [{component: "server", replicas: $n}]) { id } }`,
		map[string]any{"n": replicas})
}

// asWorker makes a call of the flow contract.
func (p *play) asWorker(call string, variables map[string]any) any {
	p.Helper()
	variables["w"] = worker
	return p.data(server.RoleAgent, call, variables)["call"]
}

// claim takes the next task, which must be the wanted one.
func (p *play) claim(want string) {
	p.Helper()
	got := p.asWorker(`mutation ($c: ID!, $w: ID!) { call: claimTask(clusterId: $c, workerId: $w) { namespace name task { id } } }`,
		map[string]any{"c": p.cluster.ID})
	p.want("the assignment", map[string]any{
		"namespace": "styrmin", "name": "prod-shop", "task": map[string]any{"id": want},
	}, got)
}

func (p *play) start(task, step string) {
	p.Helper()
	p.asWorker(`mutation ($t: ID!, $w: ID!, $s: ID!) { call: startStep(taskId: $t, workerId: $w, stepId: $s) { id } }`,
		map[string]any{"t": task, "s": p.step(task, step)["id"]})
}

func (p *play) finish(task, step string) {
	p.Helper()
	p.asWorker(`mutation ($t: ID!, $w: ID!, $s: ID!) { call: finishStep(taskId: $t, workerId: $w, stepId: $s) { id } }`,
		map[string]any{"t": task, "s": p.step(task, step)["id"]})
}

func (p *play) end(task string) {
	p.Helper()
	p.asWorker(`mutation ($t: ID!, $w: ID!) { call: finishTask(taskId: $t, workerId: $w, status: SUCCESS) { id } }`,
		map[string]any{"t": task})
}

// write runs a flow up to its write and returns the instance.
func (p *play) write(task string) string {
	p.Helper()
	p.start(task, write)
	instance := p.asWorker(`mutation ($t: ID!, $w: ID!) { call: recordSpecWrite(taskId: $t, workerId: $w) { id } }`, map[string]any{"t": task})
	p.finish(task, write)
	return instance.(map[string]any)["id"].(string)
}

// flow runs the whole flow of a task without hooks.
func (p *play) flow(task string) string {
	p.Helper()
	p.claim(task)
	instance := p.write(task)
	p.end(task)
	return instance
}

// hook starts a hook step and the task that it waits for, and runs its flow.
func (p *play) hook(task, step, action string) (hook, instance string) {
	p.Helper()
	p.start(task, step)
	started := p.asWorker(`mutation ($t: ID!, $w: ID!, $s: ID!, $a: HookAction!) {
		call: startHookTask(taskId: $t, workerId: $w, stepId: $s, input: {action: $a, components: ["server"]}) { id } }`,
		map[string]any{"t": task, "s": p.step(task, step)["id"], "a": action})
	hook = started.(map[string]any)["id"].(string)
	return hook, p.flow(hook)
}

// pass lets time go by.
func (p *play) pass(seconds int) { p.clock.Advance(time.Duration(seconds) * time.Second) }

// report sends a snapshot in which the object is at the instance.
func (p *play) report(instance, phase, displayState string) {
	p.Helper()
	object := map[string]any{
		"uid": "uid", "namespace": "styrmin", "name": "prod-shop", "deploymentId": p.deployment, "instanceId": instance,
		"generation": 1, "observedGeneration": 1, "targetNamespace": "prod-shop",
		"phase": phase, "displayState": displayState, "conditions": []any{},
	}
	if displayState == "Error" {
		object["message"] = "Helm upgrade failed: timed out"
		object["conditions"] = []any{map[string]any{
			"type": "PrerequisitesReady", "status": "True", "lastTransitionTime": p.clock.Now().Format(time.RFC3339),
		}}
	}
	p.snapshot(object)
}

// snapshot sends pods and objects.
func (p *play) snapshot(objects ...any) {
	p.Helper()
	p.sequence++
	at := p.clock.Now().Format(time.RFC3339)
	header := map[string]any{"sessionId": p.session, "sequence": p.sequence, "observedAt": at, "sentAt": at}
	pods := []any{podInput("prod-shop-1", nil)}
	if p.sick != nil {
		pods = append(pods, p.sick)
	}
	p.data(server.RoleAgent, reportPods, map[string]any{
		"report":     header,
		"namespaces": []any{map[string]any{"namespace": "prod-shop", "digest": fmt.Sprint(p.sequence), "pods": pods}},
	})
	if objects == nil {
		objects = []any{}
	}
	p.data(server.RoleAgent, `mutation ($report: ReportHeader!, $objects: [DeploymentStatusInput!]) {
		reportDeploymentStatuses(report: $report, deployments: $objects) { applied rejected { reason } } }`,
		map[string]any{"report": header, "objects": objects})
}

func (p *play) task(id string) map[string]any {
	p.Helper()
	return p.data(server.RoleViewer, `query ($id: ID!) { task(id: $id) { `+taskFields+` } }`, map[string]any{"id": id})["task"].(map[string]any)
}

func (p *play) step(task, name string) map[string]any {
	p.Helper()
	for _, step := range p.task(task)["steps"].([]any) {
		if step := step.(map[string]any); step["name"] == name {
			return step
		}
	}
	p.Fatalf("the task has no step %q", name)
	return nil
}

func (p *play) wantStatus(want string) {
	p.Helper()
	got := p.data(server.RoleViewer, `query ($d: ID!) { deployment(id: $d) { status } }`, map[string]any{"d": p.deployment})
	p.want("the deployment", map[string]any{"deployment": map[string]any{"status": want}}, got)
}

// wantTask checks result and failure reason of a task.
func (p *play) wantTask(id, result string, reason any) {
	p.Helper()
	task := p.task(id)
	if diff := cmp.Diff([]any{result, reason}, []any{task["result"], task["failureReason"]}); diff != "" {
		p.Errorf("result and reason of the task (-want +got):\n%s", diff)
	}
}

// TestStoryOfThePageThroughTheAPI is the product's page from mutations to query
// answers: a creation, an upgrade with stop and start hooks, a failing image, its
// mending, a superseded rollout, silence of the agent, and the deletion.
func TestStoryOfThePageThroughTheAPI(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		p, create := newPlay(t, url)
		p.wantStatus("PENDING")
		first := p.flow(create)
		p.wantStatus("DEPLOYING")
		for _, phase := range []string{"CreatingPrerequisites", "CreatingHelmRelease", "CreatingServices"} {
			p.pass(5)
			p.report(first, phase, "Deploying")
			p.wantTask(create, "RUNNING", nil)
		}
		p.report(first, "Ready", "Running")
		p.wantTask(create, "SUCCEEDED", nil)
		p.wantStatus("RUNNING")

		p.tellUpgrade()
		p.tellFailureAndMending()
		running := p.tellSupersedingAndSilence()
		p.tellDeletion(running)
		p.hasNoSecret()

		counts, err := p.resolver.Store.CountTasks(t.Context())
		p.must(err)
		p.want("the tasks by result", []store.TaskCount{
			{Kind: "CREATE", Result: "SUCCEEDED", Count: 1},
			{Kind: "DELETE", Result: "SUCCEEDED", Count: 1},
			{Kind: "SCALE", Result: "SUCCEEDED", Count: 2},
			{Kind: "SCALE", Result: "SUPERSEDED", Count: 1},
			{Kind: "START_COMPONENTS", Result: "SUCCEEDED", Count: 1},
			{Kind: "STOP_COMPONENTS", Result: "SUCCEEDED", Count: 1},
			{Kind: "UPDATE_VERSION", Result: "SUCCEEDED", Count: 1},
		}, counts)
	})
}

// tellUpgrade: RUNNING waits for the end of the upgrade, whatever the operator
// says of the stop and the start in between.
func (p *play) tellUpgrade() {
	p.Helper()
	upgrade := p.change(`mutation ($d: ID!) { change: updateDeploymentVersion(id: $d, version: "2.5.0") { id } }`, nil)
	p.claim(upgrade)
	stop, stopped := p.hook(upgrade, preHook, "STOP_COMPONENTS")
	p.pass(5)
	p.report(stopped, "Ready", "Running")
	p.wantTask(stop, "SUCCEEDED", nil)
	p.wantStatus("DEPLOYING")
	p.finish(upgrade, preHook)

	upgraded := p.write(upgrade)
	p.report(stopped, "Ready", "Running")
	p.want("the first step of the operator", "RUNNING", p.step(upgrade, "Create network policies and secrets")["status"])
	p.pass(5)
	p.report(upgraded, "Ready", "Running")
	p.wantStatus("DEPLOYING")

	start, started := p.hook(upgrade, postHook, "START_COMPONENTS")
	p.report(started, "Ready", "Running")
	p.finish(upgrade, postHook)
	p.want("the tasks of the hook", []any{map[string]any{"id": start}}, p.step(upgrade, postHook)["tasks"])
	p.wantStatus("DEPLOYING")
	p.end(upgrade)
	p.wantTask(upgrade, "SUCCEEDED", nil)
	p.wantStatus("DEPLOYING")
	p.pass(5)
	p.report(started, "Ready", "Running")
	p.wantStatus("RUNNING")
	p.want("what should run", "2.5.0", p.data(server.RoleViewer,
		`query ($d: ID!) { deployment(id: $d) { instance { version } } }`,
		map[string]any{"d": p.deployment})["deployment"].(map[string]any)["instance"].(map[string]any)["version"])
}

// tellFailureAndMending: the failed step names the pod, and runs again.
func (p *play) tellFailureAndMending() {
	p.Helper()
	p.want("a scaling that changes nothing", nil, p.tryChange(
		`mutation ($d: ID!) { change: scaleDeployment(id: $d, replicas: [{component: "server", replicas: 3}]) { id } }`, nil))
	broken := p.scale(4)
	instance := p.flow(broken)
	p.sick = podInput("prod-shop-2", func(pod map[string]any) {
		pod["ready"] = false
		pod["containers"] = []any{map[string]any{
			"name": "app", "kind": "APP", "ready": false, "restarts": 0, "state": "WAITING",
			"reason": "ImagePullBackOff", "message": "no tag v9",
		}}
	})
	p.pass(5)
	p.report(instance, "Failed", "Error")
	p.wantStatus("FAILED")
	p.wantTask(broken, "FAILED", `step "Install or upgrade the HelmRelease" failed: `+
		`Helm upgrade failed: timed out; pod prod-shop-2: container app ImagePullBackOff (no tag v9)`)

	p.sick = nil
	p.pass(5)
	p.report(instance, "CreatingHelmRelease", "Deploying")
	p.wantTask(broken, "RUNNING", nil)
	p.pass(5)
	p.report(instance, "Ready", "Running")
	p.want("the attempts", []any{
		map[string]any{"number": 1.0, "status": "FAILED"}, map[string]any{"number": 2.0, "status": "SUCCEEDED"},
	}, p.step(broken, install)["attempts"])
	p.wantTask(broken, "SUCCEEDED", nil)
	p.wantStatus("RUNNING")
}

// tellSupersedingAndSilence: a later write ends the earlier rollout, and a
// running step says when the agent was last heard.
func (p *play) tellSupersedingAndSilence() string {
	p.Helper()
	slow := p.scale(5)
	instance := p.flow(slow)
	p.report(instance, "CreatingHelmRelease", "Deploying")
	quick := p.scale(6)
	newest := p.flow(quick)
	p.wantTask(slow, "SUPERSEDED", fmt.Sprintf("task %s was superseded by a later task of the deployment", slow))
	p.report(instance, "Ready", "Running")
	p.wantStatus("DEPLOYING")

	const working = "Create network policies and secrets"
	heard := p.clock.Now().Format(time.RFC3339)
	p.pass(60)
	p.want("the notice after a minute", nil, p.step(quick, working)["notice"])
	p.pass(1)
	p.want("the notice", "No report from the agent since "+heard, p.step(quick, working)["notice"])
	p.report(newest, "CreatingPrerequisites", "Deploying")
	p.want("the notice after a report", nil, p.step(quick, working)["notice"])
	p.report(newest, "Ready", "Running")
	p.wantStatus("RUNNING")
	return newest
}

// tellDeletion: no report shows its end, the object is gone before.
func (p *play) tellDeletion(running string) {
	p.Helper()
	removal := p.change(`mutation ($d: ID!) { change: deleteDeployment(id: $d) { id } }`, nil)
	p.claim(removal)
	p.start(removal, request)
	p.asWorker(`mutation ($t: ID!, $w: ID!) { call: recordDeletionRequest(taskId: $t, workerId: $w) }`, map[string]any{"t": removal})
	p.finish(removal, request)
	p.end(removal)
	p.report(running, "Ready", "Running")
	p.wantStatus("DELETING")
	p.pass(5)
	p.report(running, "Deleting", "Deleting")
	p.wantTask(removal, "RUNNING", nil)
	p.pass(5)
	p.snapshot()
	p.wantTask(removal, "SUCCEEDED", nil)
	p.wantStatus("DELETED")
	p.want("the observed objects", []any{}, p.data(server.RoleViewer, `{ deploymentStatuses { uid } }`, nil)["deploymentStatuses"])

	tasks := p.data(server.RoleViewer, `query ($d: ID!) { deployment(id: $d) { tasks(first: 3) { kind } } }`, map[string]any{"d": p.deployment})
	p.want("the newest tasks", []any{
		map[string]any{"kind": "DELETE"}, map[string]any{"kind": "SCALE"}, map[string]any{"kind": "SCALE"},
	}, tasks["deployment"].(map[string]any)["tasks"])
}
