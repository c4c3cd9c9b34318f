// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

const (
	testWorker = "worker-1"
	testLease  = 30
)

// shopSpec is what the tests' deployment declares.
const shopSpec = `{
	"version": "2.4.0",
	"helmRelease": {"releaseName": "shop", "chart": {"repository": "oci://charts", "name": "shop", "version": "2.4.0"}},
	"components": [
		{"name": "server", "replicas": 3, "replicasValue": "server.replicas", "selector": {}},
		{"name": "db", "selector": {}}
	],
	"jobs": [{"name": "migrate", "template": {"template": {"spec": {}}}}],
	"hooks": {"upgrade": {"pre": [{"stopComponents": ["server"]}], "post": [{"startComponents": ["server"]}]}}
}`

// world is one deployment with its worker and its operator, driven call by
// call. Its clock moves by hand; its ids count up.
type world struct {
	*State
	t      *testing.T
	now    time.Time
	lastID int
	pods   []PodStatus
}

// newWorld is a deployment of the server that was just declared, with its
// create task waiting.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: noon, State: &State{Deployment: Deployment{
		ID: "d", ClusterID: "c", Name: "shop", Environment: ptr("prod"),
		ManagedBy: DeploymentManagerServer, Status: DeploymentPending, StatusSince: noon, CreatedAt: noon,
	}}}
	w.request(Change{Kind: TaskCreate, Spec: json.RawMessage(shopSpec)})
	return w
}

// running is a deployment that was created and runs.
func running(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	instance := w.flow(w.claim())
	w.pass(5)
	w.report(instance, "Ready", "Running")
	w.wantStatus(DeploymentRunning)
	return w
}

func (w *world) newID() string {
	w.lastID++
	return fmt.Sprintf("id-%03d", w.lastID)
}

// pass lets so many seconds go by.
func (w *world) pass(seconds float64) {
	w.now = w.now.Add(time.Duration(seconds * float64(time.Second)))
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// request makes the change and returns the id of its task, "" where nothing
// changes.
func (w *world) request(change Change) string {
	w.t.Helper()
	task, err := w.RequestChange(change, w.now, w.newID)
	w.must(err)
	if task == nil {
		return ""
	}
	return task.ID
}

// claim claims the next task and returns its id.
func (w *world) claim() string {
	w.t.Helper()
	_, task, err := Claim([]*State{w.State}, testWorker, testLease, w.now)
	w.must(err)
	if task == nil {
		w.t.Fatal("nothing to claim")
	}
	return task.ID
}

func (w *world) step(taskID, name string) *Step {
	w.t.Helper()
	task := w.Tasks.Find(taskID)
	for i := range task.Steps {
		if task.Steps[i].Name == name {
			return &task.Steps[i]
		}
	}
	w.t.Fatalf("task %s has no step %q", taskID, name)
	return nil
}

func (w *world) start(taskID, name string) {
	w.t.Helper()
	_, err := w.StartStep(taskID, testWorker, w.step(taskID, name).ID, w.now)
	w.must(err)
}

func (w *world) finish(taskID, name string) {
	w.t.Helper()
	_, err := w.FinishStep(taskID, testWorker, w.step(taskID, name).ID, nil, w.now)
	w.must(err)
}

func (w *world) fail(taskID, name, reason string) {
	w.t.Helper()
	_, err := w.FinishStep(taskID, testWorker, w.step(taskID, name).ID, &reason, w.now)
	w.must(err)
}

// write runs the step that writes the StyrminDeployment and returns the
// instance's id.
func (w *world) write(taskID string) string {
	w.t.Helper()
	w.start(taskID, stepSpecWrite)
	instance, err := w.RecordSpecWrite(taskID, testWorker, w.now)
	w.must(err)
	w.finish(taskID, stepSpecWrite)
	return instance.ID
}

func (w *world) end(taskID string, status TaskStatus) {
	w.t.Helper()
	_, err := w.FinishTask(taskID, testWorker, status, nil, w.now)
	w.must(err)
}

// flow runs the whole flow of a task that only writes, and returns its
// instance's id.
func (w *world) flow(taskID string) string {
	w.t.Helper()
	instanceID := w.write(taskID)
	w.end(taskID, TaskSuccess)
	return instanceID
}

// hook starts the hook step and its task, and claims that.
func (w *world) hook(taskID, step string) string {
	w.t.Helper()
	w.start(taskID, step)
	id := w.step(taskID, step).ID
	task, err := w.StartHookTask(taskID, testWorker, id, *w.step(taskID, step).Hook, w.now, w.newID)
	w.must(err)
	hookID := task.ID
	if claimed := w.claim(); claimed != hookID {
		w.t.Fatalf("claimed %s, want the hook task %s", claimed, hookID)
	}
	return hookID
}

// report applies a complete report with the True conditions that the phase
// implies.
func (w *world) report(instanceID, phase, displayState string) {
	w.t.Helper()
	w.reportObject(reported(instanceID, phase, displayState))
}

func (w *world) reportObject(observed DeploymentStatus) {
	w.t.Helper()
	w.ApplyReport(observed, func() []PodStatus { return w.pods }, Receipt{At: w.now, SentAt: w.now, Complete: true})
}

func (w *world) wantStatus(want DeploymentStatusName) {
	w.t.Helper()
	if got := w.Deployment.Status; got != want {
		w.t.Errorf("deployment is %s (%s), want %s", got, optionalText(w.Deployment.StatusMessage), want)
	}
}

func (w *world) wantResult(taskID string, want TaskResult) {
	w.t.Helper()
	if got := w.Tasks.Result(taskID); got != want {
		w.t.Errorf("result of task %s is %s, want %s", taskID, got, want)
	}
}

func (w *world) wantReason(taskID, want string) {
	w.t.Helper()
	if got := optionalText(w.Tasks.FailureReason(taskID)); got != want {
		w.t.Errorf("failure reason of task %s is\n%s\nwant\n%s", taskID, got, want)
	}
}

// wantSteps compares the statuses of the operator-phase steps, in order.
func (w *world) wantSteps(taskID string, want ...StepStatus) {
	w.t.Helper()
	steps := w.Tasks.Find(taskID).operatorSteps()
	got := make([]StepStatus, len(steps))
	for i := range steps {
		got[i] = steps[i].Status
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("operator-phase steps of task %s (-want +got):\n%s", taskID, diff)
	}
}

// wantAttempts compares the attempts of a step.
func (w *world) wantAttempts(taskID, step string, want ...StepAttempt) {
	w.t.Helper()
	for i := range want {
		want[i].Number = i + 1
	}
	if diff := cmp.Diff(want, w.step(taskID, step).Attempts); diff != "" {
		w.t.Errorf("attempts of %q (-want +got):\n%s", step, diff)
	}
}

func wantCode(t *testing.T, err error, code Code, field string) {
	t.Helper()
	if err == nil || CodeOf(err) != code {
		t.Fatalf("got error %v, want %s", err, code)
	}
	if refusal := (&Error{}); field != "" {
		if !errors.As(err, &refusal) || refusal.Field != field {
			t.Errorf("error %v is about field %q, want %q", err, refusal.Field, field)
		}
	}
}

// condition is a True condition since so many seconds after noon.
func condition(conditionType string, seconds float64) Condition {
	return Condition{Type: conditionType, Status: "True", LastTransitionTime: at(seconds)}
}

// allConditions turn True at the given seconds after noon, in the order of the
// steps.
func allConditions(seconds ...float64) []Condition {
	types := []string{
		styrminv1.ConditionPrerequisitesReady, styrminv1.ConditionHelmReleaseReady,
		styrminv1.ConditionServicesReady, styrminv1.ConditionReady,
	}
	conditions := make([]Condition, len(seconds))
	for i, second := range seconds {
		conditions[i] = condition(types[i], second)
	}
	return conditions
}
