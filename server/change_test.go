// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Changes of the tests' deployment.
var (
	scaleTo = func(replicas int) Change {
		return Change{Kind: TaskScale, Replicas: []ComponentReplicas{{"server", replicas}}}
	}
	upgradeTo   = func(version string) Change { return Change{Kind: TaskUpdateVersion, Version: version} }
	updateTo    = func(raw string) Change { return Change{Kind: TaskUpdate, Spec: json.RawMessage(raw)} }
	stopServer  = Change{Kind: TaskStopComponents, Components: []string{"server"}}
	startServer = Change{Kind: TaskStartComponents, Components: []string{"server"}}
	runMigrate  = Change{Kind: TaskRunJob, Job: "migrate"}
	deletion    = Change{Kind: TaskDelete}
)

func TestW5NothingChanges(t *testing.T) {
	cases := map[string]struct {
		before func(*world)
		change Change
		// want tells whether there is a task.
		want bool
	}{
		"an update to the same spec":     {nil, updateTo(shopSpec), false},
		"an update to another spec":      {nil, updateTo(strings.Replace(shopSpec, "3", "4", 1)), true},
		"a scaling to the same replicas": {nil, scaleTo(3), false},
		"an update of what someone deletes in the cluster": {
			func(w *world) {
				going := reported(*w.Deployment.WrittenInstanceID, "Deleting", "Deleting")
				going.DeletionRequestedAt = &w.now
				w.reportObject(going)
			},
			updateTo(shopSpec), true,
		},
		"an update of what someone deletes in the cluster, whose write waits for that": {
			func(w *world) {
				going := reported(*w.Deployment.WrittenInstanceID, "Deleting", "Deleting")
				going.DeletionRequestedAt = &w.now
				w.reportObject(going)
				task := w.request(updateTo(shopSpec))
				w.claim()
				w.start(task, stepSpecWrite)
				_, err := w.RecordSpecWrite(task, testWorker, w.now)
				w.must(err)
			},
			updateTo(shopSpec), false,
		},
		"an update of what someone deletes in the cluster, which is asked for already": {
			func(w *world) {
				going := reported(*w.Deployment.WrittenInstanceID, "Deleting", "Deleting")
				going.DeletionRequestedAt = &w.now
				w.reportObject(going)
				w.request(updateTo(shopSpec))
			},
			updateTo(shopSpec), false,
		},
		"a scaling to other replicas":                 {nil, scaleTo(4), true},
		"an upgrade to the same version":              {nil, upgradeTo("2.4.0"), false},
		"an upgrade to another version":               {nil, upgradeTo("2.5.0"), true},
		"a start of what runs is a task all the same": {nil, startServer, true},
		"a stop is a task":                            {nil, stopServer, true},
		"a job is a task":                             {nil, runMigrate, true},
		"a scaling to what the queue leads to":        {func(w *world) { w.request(scaleTo(5)) }, scaleTo(5), false},
		"a scaling back from what the queue leads to": {func(w *world) { w.request(scaleTo(5)) }, scaleTo(3), true},
		"an update to the spec that a queued upgrade leaves, its hooks included": {
			func(w *world) { w.request(upgradeTo("2.5.0")) },
			updateTo(strings.ReplaceAll(shopSpec, "2.4.0", "2.5.0")), false,
		},
		"an update to that in the middle of the upgrade": {
			func(w *world) {
				w.request(upgradeTo("2.5.0"))
				upgrade := w.claim()
				instance := w.flow(w.hook(upgrade, "Pre-upgrade hook: stop server"))
				w.report(instance, "Ready", "Running")
				w.finish(upgrade, "Pre-upgrade hook: stop server")
			},
			updateTo(strings.ReplaceAll(shopSpec, "2.4.0", "2.5.0")), false,
		},
		"an update to that while a hook's own task waits": {
			func(w *world) {
				w.request(upgradeTo("2.5.0"))
				upgrade := w.claim()
				w.start(upgrade, preHook)
				_, err := w.StartHookTask(upgrade, testWorker, w.step(upgrade, preHook).ID, stopServer, w.now, w.newID)
				w.must(err)
			},
			updateTo(strings.ReplaceAll(shopSpec, "2.4.0", "2.5.0")), false,
		},
		"an update to that when the upgrade has failed a step": {
			func(w *world) {
				w.request(upgradeTo("2.5.0"))
				upgrade := w.claim()
				w.start(upgrade, preHook)
				w.fail(upgrade, preHook, "no")
			},
			updateTo(strings.ReplaceAll(shopSpec, "2.4.0", "2.5.0")), true,
		},
		"an update to what runs, when a stop is queued": {func(w *world) { w.request(stopServer) }, updateTo(shopSpec), true},
		"a queued change that will fail leads nowhere": {
			func(w *world) {
				w.request(Change{Kind: TaskStopComponents, Components: []string{"server"}})
				w.Tasks[len(w.Tasks)-1].Change.Components = []string{"gone"}
			},
			updateTo(shopSpec), false,
		},
		"an update to the same spec when that has failed": {
			func(w *world) {
				task := w.request(scaleTo(4))
				w.claim()
				w.report(w.flow(task), "Failed", "Error")
			},
			scaleTo(4), true,
		},
		"an upgrade to the same version when that has failed after a hook had written": {
			func(w *world) {
				w.request(upgradeTo("2.5.0"))
				upgrade := w.claim()
				w.report(w.flow(w.hook(upgrade, preHook)), "Ready", "Running")
				w.finish(upgrade, preHook)
				w.report(w.write(upgrade), "Ready", "Running")
				w.report(w.flow(w.hook(upgrade, postHook)), "Ready", "Running")
				w.finish(upgrade, postHook)
				w.end(upgrade, TaskFailed)
			},
			upgradeTo("2.5.0"), true,
		},
		"an update to what has failed, when it is queued again": {
			func(w *world) {
				task := w.request(scaleTo(4))
				w.claim()
				w.report(w.flow(task), "Failed", "Error")
				w.request(scaleTo(4))
			},
			scaleTo(4), false,
		},
		"an update to the same spec when the object is missing": {func(w *world) { w.pass(5); w.ApplyAbsence(w.now, w.now) }, updateTo(shopSpec), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := running(t)
			if tc.before != nil {
				tc.before(w)
			}
			before := w.Clone()
			if got := w.request(tc.change) != ""; got != tc.want {
				t.Errorf("made a task: %t, want %t", got, tc.want)
			}
			before.Tasks = w.Tasks
			if diff := cmp.Diff(before, w.State); diff != "" {
				t.Errorf("more than tasks changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestW4CallsChangeNoStatusCaseG01(t *testing.T) {
	for _, change := range []Change{stopServer, startServer, scaleTo(1), upgradeTo("3"), runMigrate, deletion} {
		w := running(t)
		w.request(change)
		w.wantStatus(DeploymentRunning)
		task := w.claim()
		w.wantStatus(DeploymentRunning)
		w.start(task, w.Tasks.Find(task).Steps[0].Name)
		w.wantStatus(DeploymentRunning)
		w.report(*w.Deployment.WrittenInstanceID, "Ready", "Running")
		w.wantStatus(DeploymentRunning)
	}
}

func TestW1RequestedTask(t *testing.T) {
	w := newWorld(t)
	task := w.Tasks[0]
	if task.InstanceID == nil || task.Status != TaskPending || !task.CreatedAt.Equal(noon) || task.DeploymentID != "d" || task.IsHookTask() {
		t.Errorf("create task is %+v", task)
	}
	if diff := cmp.Diff(`"prod"`, string(mustRaw(t, mustSpec(t, string(task.Change.Spec))["environment"]))); diff != "" {
		t.Errorf("environment of the declared spec (-want +got):\n%s", diff)
	}
	w = running(t)
	for _, change := range []Change{runMigrate, deletion} {
		if task := w.Tasks.Find(w.request(change)); task.InstanceID != nil {
			t.Errorf("task of kind %s has an instance", change.Kind)
		}
	}
}

func mustRaw(t *testing.T, value any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestW2RefusedCalls(t *testing.T) {
	deleting := func(w *world) {
		task := w.request(deletion)
		w.claim()
		w.start(task, stepDeletionRequest)
		w.must(w.RecordDeletionRequest(task, testWorker, w.now))
	}
	cases := map[string]struct {
		before func(*world)
		change Change
		code   Code
		field  string
	}{
		"a change while a deletion is queued":  {func(w *world) { w.request(deletion) }, scaleTo(4), CodeConflict, ""},
		"a change while a deletion goes on":    {deleting, scaleTo(4), CodeConflict, ""},
		"a change of a deleted deployment":     {func(w *world) { w.Deployment.Status = DeploymentDeleted }, scaleTo(4), CodeConflict, ""},
		"a deletion of a deleted deployment":   {func(w *world) { w.Deployment.Status = DeploymentDeleted }, deletion, CodeConflict, ""},
		"a change of what the cluster manages": {func(w *world) { w.Deployment.ManagedBy = DeploymentManagerCluster }, scaleTo(4), CodeConflict, ""},
		"a second creation":                    {nil, Change{Kind: TaskCreate, Spec: json.RawMessage(shopSpec)}, CodeConflict, ""},
		"an unknown component":                 {nil, Change{Kind: TaskStopComponents, Components: []string{"web"}}, CodeInvalidInput, "components[0]"},
		"an unknown job":                       {nil, Change{Kind: TaskRunJob, Job: "x"}, CodeInvalidInput, "job"},
		"a spec that cannot be":                {nil, updateTo(`{"environment": "test"}`), CodeInvalidInput, "spec.environment"},
		"a component that a queued update removes": {
			func(w *world) {
				w.request(updateTo(leastSpec(t, `{"components": [{"name": "db", "selector": {}}]}`)))
			}, scaleTo(4), CodeInvalidInput, "replicas[0].component",
		},
		"hooks that cannot be read": {
			func(w *world) { w.Instances[0].Spec = json.RawMessage(`{"helmRelease": {"chart": {}}, "hooks": 1}`) },
			upgradeTo("3"), CodeInvalidInput, "spec.hooks",
		},
		"a change whose instance is not loaded": {func(w *world) { w.Instances = nil }, scaleTo(4), CodeInternal, ""},
		"a change of a spec that is broken":     {func(w *world) { w.Instances[0].Spec = json.RawMessage(`{`) }, scaleTo(4), CodeInternal, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := running(t)
			if tc.before != nil {
				tc.before(w)
			}
			before := w.Clone()
			_, err := w.RequestChange(tc.change, w.now, w.newID)
			wantCode(t, err, tc.code, tc.field)
			if diff := cmp.Diff(before, w.State); diff != "" {
				t.Errorf("the refused call changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestR9DeletionsOfADeployment(t *testing.T) {
	t.Run("asked for twice are one task", func(t *testing.T) {
		w := running(t)
		if first, second := w.request(deletion), w.request(deletion); first != second {
			t.Errorf("tasks %s and %s", first, second)
		}
	})
	t.Run("are tried again when one has failed", func(t *testing.T) {
		w := running(t)
		first := w.request(deletion)
		w.claim()
		w.end(first, TaskFailed)
		second := w.request(deletion)
		if first == second {
			t.Error("the failed task was returned")
		}
		// Nothing was requested of the cluster: the deployment lives on.
		w.claim()
		w.end(second, TaskFailed)
		if w.request(scaleTo(4)) == "" {
			t.Error("no task after deletions that failed")
		}
	})
	t.Run("are open to what the cluster manages", func(t *testing.T) {
		w := &world{t: t, now: noon, State: &State{Deployment: Adopt(reported("shop-1", "Ready", "Running"), noon)}}
		if w.request(deletion) == "" {
			t.Error("no task")
		}
	})
}

func TestW5FailedCreationCanBeUpdated(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	w.end(task, TaskFailed)
	w.wantStatus(DeploymentFailed)
	_, err := w.RequestChange(scaleTo(4), w.now, w.newID)
	wantCode(t, err, CodeConflict, "")
	update := w.request(updateTo(shopSpec))
	w.flow(w.claim())
	w.wantResult(update, ResultRunning)
	w.wantStatus(DeploymentDeploying)
}
