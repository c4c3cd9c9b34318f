// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	preHook  = "Pre-upgrade hook: stop server"
	postHook = "Post-upgrade hook: start server"
)

// upgrading is a deployment whose upgrade to 2.5.0 has just been claimed.
func upgrading(t *testing.T) (*world, string) {
	t.Helper()
	w := running(t)
	w.request(upgradeTo("2.5.0"))
	return w, w.claim()
}

func TestW1StepsRunInTheirOrder(t *testing.T) {
	w, task := upgrading(t)
	startStep := func(name string) error {
		_, err := w.StartStep(task, testWorker, w.step(task, name).ID, w.now)
		return err
	}
	wantCode(t, startStep(stepSpecWrite), CodeConflict, "")
	hook := w.hook(task, preHook)
	wantCode(t, startStep(stepSpecWrite), CodeConflict, "")
	w.report(w.flow(hook), "Ready", "Running")
	w.finish(task, preHook)
	w.write(task)

	// The post hook waits for the operator.
	wantCode(t, startStep(postHook), CodeConflict, "")
	w.report(*w.Tasks.Find(task).InstanceID, "CreatingServices", "Deploying")
	wantCode(t, startStep(postHook), CodeConflict, "")
	wantCode(t, startStep(stepReady), CodeConflict, "")
	w.report(*w.Tasks.Find(task).InstanceID, "Ready", "Deploying")
	w.start(task, postHook)
}

func TestW1RefusedFlowCalls(t *testing.T) {
	cases := map[string]struct {
		before func(w *world, task string)
		call   func(w *world, task string) error
		code   Code
		field  string
	}{
		"a task that is not there": {
			call: func(w *world, _ string) error { return w.RenewLease("x", testWorker, 30, w.now) },
			code: CodeNotFound,
		},
		"a task that no one has claimed": {
			call: func(w *world, _ string) error { return w.RenewLease(w.request(scaleTo(4)), testWorker, 30, w.now) },
			code: CodeConflict,
		},
		"a task that has ended": {
			before: func(w *world, task string) { w.end(task, TaskFailed) },
			call:   func(w *world, task string) error { return w.RenewLease(task, testWorker, 30, w.now) },
			code:   CodeConflict,
		},
		"a step that is not there": {
			call: func(w *world, task string) error {
				_, err := w.StartStep(task, testWorker, "x", w.now)
				return err
			},
			code: CodeNotFound,
		},
		"starting a step that has ended": {
			before: func(w *world, task string) { w.start(task, preHook); w.fail(task, preHook, "no") },
			call: func(w *world, task string) error {
				_, err := w.StartStep(task, testWorker, w.step(task, preHook).ID, w.now)
				return err
			},
			code: CodeConflict,
		},
		"finishing a step that waits": {
			call: func(w *world, task string) error {
				_, err := w.FinishStep(task, testWorker, w.step(task, preHook).ID, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"finishing a failed step well": {
			before: func(w *world, task string) { w.start(task, preHook); w.fail(task, preHook, "no") },
			call: func(w *world, task string) error {
				_, err := w.FinishStep(task, testWorker, w.step(task, preHook).ID, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"finishing the operator's step": {
			call: func(w *world, task string) error {
				_, err := w.FinishStep(task, testWorker, w.step(task, stepReady).ID, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"finishing a hook step well before its task has succeeded": {
			before: func(w *world, task string) { w.hook(task, preHook) },
			call: func(w *world, task string) error {
				_, err := w.FinishStep(task, testWorker, w.step(task, preHook).ID, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"finishing the write well before it is recorded": {
			before: func(w *world, task string) {
				w.start(task, preHook)
				w.finish(task, preHook)
				w.start(task, stepSpecWrite)
			},
			call: func(w *world, task string) error {
				_, err := w.FinishStep(task, testWorker, w.step(task, stepSpecWrite).ID, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"recording a write whose step does not run": {
			call: func(w *world, task string) error {
				_, err := w.RecordSpecWrite(task, testWorker, w.now)
				return err
			},
			code: CodeConflict,
		},
		"recording a deletion of a task that has none": {
			call: func(w *world, task string) error { return w.RecordDeletionRequest(task, testWorker, w.now) },
			code: CodeConflict,
		},
		"a hook task of a step that does not run": {
			call: func(w *world, task string) error {
				_, err := w.StartHookTask(task, testWorker, w.step(task, preHook).ID, stopServer, w.now, w.newID)
				return err
			},
			code: CodeConflict,
		},
		"a hook task of a step that is no hook": {
			before: func(w *world, task string) {
				w.start(task, preHook)
				w.finish(task, preHook)
				w.start(task, stepSpecWrite)
			},
			call: func(w *world, task string) error {
				_, err := w.StartHookTask(task, testWorker, w.step(task, stepSpecWrite).ID, stopServer, w.now, w.newID)
				return err
			},
			code: CodeConflict,
		},
		"a hook that does what hooks cannot": {
			before: func(w *world, task string) { w.start(task, preHook) },
			call: func(w *world, task string) error {
				_, err := w.StartHookTask(task, testWorker, w.step(task, preHook).ID, deletion, w.now, w.newID)
				return err
			},
			code: CodeInvalidInput, field: "action",
		},
		"a hook of an unknown component": {
			before: func(w *world, task string) { w.start(task, preHook) },
			call: func(w *world, task string) error {
				hook := Change{Kind: TaskStopComponents, Components: []string{"web"}}
				_, err := w.StartHookTask(task, testWorker, w.step(task, preHook).ID, hook, w.now, w.newID)
				return err
			},
			code: CodeInvalidInput, field: "components[0]",
		},
		"a hook that is not the step's": {
			before: func(w *world, task string) { w.start(task, preHook) },
			call: func(w *world, task string) error {
				_, err := w.StartHookTask(task, testWorker, w.step(task, preHook).ID, startServer, w.now, w.newID)
				return err
			},
			code: CodeInvalidInput, field: "input",
		},
		"an end that is none": {
			call: func(w *world, task string) error {
				_, err := w.FinishTask(task, testWorker, TaskRunning, nil, w.now)
				return err
			},
			code: CodeInvalidInput, field: "status",
		},
		"a success with steps that wait": {
			call: func(w *world, task string) error {
				_, err := w.FinishTask(task, testWorker, TaskSuccess, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"another end than the first": {
			before: func(w *world, task string) { w.end(task, TaskFailed) },
			call: func(w *world, task string) error {
				_, err := w.FinishTask(task, testWorker, TaskSuccess, nil, w.now)
				return err
			},
			code: CodeConflict,
		},
		"a write into a deletion": {
			before: func(w *world, task string) {
				w.start(task, preHook)
				w.finish(task, preHook)
				w.start(task, stepSpecWrite)
				w.Deployment.DeletionRequestedAt = &w.now
			},
			call: func(w *world, task string) error {
				_, err := w.RecordSpecWrite(task, testWorker, w.now)
				return err
			},
			code: CodeConflict,
		},
		"a write of a change that no longer fits": {
			before: func(w *world, task string) {
				w.start(task, preHook)
				w.finish(task, preHook)
				w.start(task, stepSpecWrite)
				w.Instances[0].Spec = json.RawMessage(`{}`)
			},
			call: func(w *world, task string) error {
				_, err := w.RecordSpecWrite(task, testWorker, w.now)
				return err
			},
			code: CodeInvalidInput, field: "version",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, task := upgrading(t)
			if tc.before != nil {
				tc.before(w, task)
			}
			before := w.Clone()
			wantCode(t, tc.call(w, task), tc.code, tc.field)
			before.Tasks = append(before.Tasks, w.Tasks[len(before.Tasks):]...)
			if diff := cmp.Diff(before, w.State); diff != "" {
				t.Errorf("the refused call changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestW3RepeatedCallsChangeNothing(t *testing.T) {
	w, task := upgrading(t)
	repeat := func(name string, call func() error) {
		t.Helper()
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		before := w.Clone()
		w.pass(1)
		if err := call(); err != nil {
			t.Fatalf("%s again: %v", name, err)
		}
		if diff := cmp.Diff(before, w.State); diff != "" {
			t.Errorf("%s again changed (-before +after):\n%s", name, diff)
		}
	}
	startStep := func(task, name string) func() error {
		return func() error {
			_, err := w.StartStep(task, testWorker, w.step(task, name).ID, w.now)
			return err
		}
	}
	finishStep := func(task, name string, reason *string) func() error {
		return func() error {
			_, err := w.FinishStep(task, testWorker, w.step(task, name).ID, reason, w.now)
			return err
		}
	}
	finishTask := func(task string, status TaskStatus) func() error {
		return func() error {
			_, err := w.FinishTask(task, testWorker, status, ptr("done"), w.now)
			return err
		}
	}
	write := func(task string) func() error {
		return func() error {
			_, err := w.RecordSpecWrite(task, testWorker, w.now)
			return err
		}
	}

	repeat("starting the hook step", startStep(task, preHook))
	repeat("starting the hook's task", func() error {
		_, err := w.StartHookTask(task, testWorker, w.step(task, preHook).ID, stopServer, w.now, w.newID)
		return err
	})
	hook := w.claim()
	repeat("starting the hook task's write", startStep(hook, stepSpecWrite))
	repeat("recording the hook task's write", write(hook))
	repeat("finishing the hook task's write", finishStep(hook, stepSpecWrite, nil))
	repeat("finishing the hook task", finishTask(hook, TaskSuccess))
	w.report(*w.Tasks.Find(hook).InstanceID, "Ready", "Running")
	repeat("finishing the hook step", finishStep(task, preHook, nil))
	repeat("starting the write", startStep(task, stepSpecWrite))
	repeat("recording the write", write(task))
	repeat("failing the write", finishStep(task, stepSpecWrite, ptr("refused")))
	repeat("failing the task", finishTask(task, TaskFailed))

	removal := w.request(deletion)
	w.claim()
	repeat("starting the request", startStep(removal, stepDeletionRequest))
	repeat("recording the deletion", func() error { return w.RecordDeletionRequest(removal, testWorker, w.now) })
}

// A stop in a pre hook stays stopped through the upgrade's own write until the
// post hook starts it.
func TestW5ChangesComposeThroughAnUpgrade(t *testing.T) {
	w, task := upgrading(t)
	rollOut := func(task string) spec {
		t.Helper()
		instance := w.write(task)
		w.report(instance, "Ready", "Deploying")
		return mustSpec(t, string(w.instance(instance).Spec))
	}
	hook := w.hook(task, preHook)
	stopped := rollOut(hook)
	w.end(hook, TaskSuccess)
	w.finish(task, preHook)
	upgraded := rollOut(task)
	hook = w.hook(task, postHook)
	started := rollOut(hook)
	w.end(hook, TaskSuccess)
	w.finish(task, postHook)

	type facts struct {
		version, chart string
		running        any
	}
	of := func(s spec) facts {
		return facts{s.text("version"), s.text("helmRelease", "chart", "version"), s.named("components", "server")["running"]}
	}
	got := []facts{of(stopped), of(upgraded), of(started)}
	want := []facts{{"2.4.0", "2.4.0", false}, {"2.5.0", "2.5.0", false}, {"2.5.0", "2.5.0", true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(facts{})); diff != "" {
		t.Errorf("specs of the stop, the upgrade and the start (-want +got):\n%s", diff)
	}
	if got := optionalText(w.Deployment.Version); got != "2.5.0" {
		t.Errorf("deployment's version is %q", got)
	}
}

func TestW5RecordedInstance(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	w.Deployment.Missing = true
	w.pass(1)
	w.start(task, stepSpecWrite)
	w.pass(1)
	instance, err := w.RecordSpecWrite(task, testWorker, w.now)
	w.must(err)
	if instance.ID != *w.Tasks.Find(task).InstanceID || !instance.CreatedAt.Equal(w.now) || *instance.Version != "2.4.0" || instance.DeploymentID != "d" {
		t.Errorf("instance is %+v", instance)
	}
	deployment := w.Deployment
	if *deployment.WrittenInstanceID != instance.ID || !deployment.WrittenAt.Equal(w.now) || deployment.Missing || !deployment.StatusSince.Equal(w.now) {
		t.Errorf("deployment is %+v", deployment)
	}
	w.wantStatus(DeploymentDeploying)

	w.Instances = nil
	_, err = w.RecordSpecWrite(task, testWorker, w.now)
	wantCode(t, err, CodeInternal, "")
}

func TestW1EndedFlowLeavesNothingWaiting(t *testing.T) {
	w, task := upgrading(t)
	w.start(task, preHook)
	id := w.step(task, preHook).ID
	hook, err := w.StartHookTask(task, testWorker, id, stopServer, w.now, w.newID)
	w.must(err)
	hookID := hook.ID
	w.pass(1)
	w.end(task, TaskFailed)
	for _, step := range w.Tasks.Find(task).Steps {
		if step.Status != StepCancelled {
			t.Errorf("step %q is %s", step.Name, step.Status)
		}
	}
	w.wantAttempts(task, preHook, StepAttempt{Status: StepCancelled, StartedAt: at(5), EndedAt: &w.now})
	if got := w.Tasks.Find(hookID); got.Status != TaskFailed || *got.Message != parentEnded {
		t.Errorf("hook task is %s: %v", got.Status, got.Message)
	}
	w.wantStatus(DeploymentRunning)
}

func TestW1RunningHookTaskOutlivesItsParent(t *testing.T) {
	w, task := upgrading(t)
	hook := w.hook(task, preHook)
	w.end(task, TaskFailed)
	if got := w.Tasks.Find(hook).Status; got != TaskRunning {
		t.Errorf("hook task is %s", got)
	}
	w.flow(hook)
	w.wantResult(hook, ResultRunning)
}

func TestW1TextOfFlowsIsCleaned(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	w.start(task, stepSpecWrite)
	w.fail(task, stepSpecWrite, "a\x00b\xff"+strings.Repeat("x", maxErrorBytes))
	if got := *w.step(task, stepSpecWrite).Error(); len(got) != maxErrorBytes || !strings.HasPrefix(got, "ab\uFFFDx") {
		t.Errorf("error has %d bytes and begins %q", len(got), got[:8])
	}
	_, err := w.FinishTask(task, testWorker, TaskFailed, ptr("c\x00d"), w.now)
	w.must(err)
	if got := *w.Tasks.Find(task).Message; got != "cd" {
		t.Errorf("message is %q", got)
	}
}

func TestAStepThatFailsWithoutAReasonSaysSo(t *testing.T) {
	for name, reason := range map[string]string{"it is empty": "", "nothing of it can be kept": "\x00"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			task := w.claim()
			w.start(task, stepSpecWrite)
			w.fail(task, stepSpecWrite, reason)
			w.end(task, TaskFailed)
			w.wantReason(task, `step "`+stepSpecWrite+`" failed: `+noReason)
		})
	}
}
