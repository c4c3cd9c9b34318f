// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestW2ClaimPicksTheNextTask(t *testing.T) {
	task := func(id string, created float64, edit ...func(*Task)) Task {
		made := Task{ID: id, Status: TaskPending, CreatedAt: at(created)}
		for _, e := range edit {
			e(&made)
		}
		return made
	}
	in := func(status TaskStatus) func(*Task) { return func(t *Task) { t.Status = status } }
	leased := func(until float64) func(*Task) {
		return func(t *Task) { t.Status, t.WorkerID, t.LeaseExpiresAt = TaskRunning, ptr("other"), atPtr(until) }
	}
	hookOf := func(parent string) func(*Task) { return func(t *Task) { t.ParentTaskID = &parent } }

	// It is 100 seconds after noon.
	cases := map[string]struct {
		deployments [][]Task
		want        string
	}{
		"nothing where there is nothing":                         {nil, ""},
		"the oldest of a deployment":                             {[][]Task{{task("a", 1), task("b", 2)}}, "a"},
		"the oldest of all deployments":                          {[][]Task{{task("a", 2)}, {task("b", 1)}}, "b"},
		"of tasks made at once the same each time":               {[][]Task{{task("b", 1)}, {task("a", 1)}}, "a"},
		"none while another flow of the deployment runs":         {[][]Task{{task("a", 1, leased(101)), task("b", 2)}}, ""},
		"one of another deployment meanwhile":                    {[][]Task{{task("a", 1, leased(101)), task("b", 2)}, {task("c", 3)}}, "c"},
		"the next when that flow has ended, well or not":         {[][]Task{{task("a", 1, in(TaskSuccess)), task("b", 2, in(TaskFailed)), task("c", 3)}}, "c"},
		"hook tasks first":                                       {[][]Task{{task("a", 1)}, {task("b", 2, leased(101)), task("c", 3, hookOf("b"))}}, "c"},
		"no hook task that nobody waits for":                     {[][]Task{{task("a", 1, in(TaskFailed)), task("b", 2, hookOf("a"))}}, ""},
		"none while a hook task runs on after its task":          {[][]Task{{task("a", 1, in(TaskFailed)), task("b", 2, hookOf("a"), leased(101)), task("c", 3)}}, ""},
		"a task whose lease has run out":                         {[][]Task{{task("a", 1, leased(100)), task("b", 2)}}, "a"},
		"a hook task whose lease has run out, before its parent": {[][]Task{{task("a", 1, leased(99)), task("b", 2, hookOf("a"), leased(99))}}, "b"},
		"nothing of flows that have all ended":                   {[][]Task{{task("a", 1, in(TaskSuccess))}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			states := make([]*State, 0, len(tc.deployments))
			for _, tasks := range tc.deployments {
				states = append(states, &State{Tasks: tasks})
			}
			state, got, err := Claim(states, testWorker, 30, at(100))
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if got != nil {
					t.Fatalf("claimed %s, want nothing", got.ID)
				}
				return
			}
			if got == nil || got.ID != tc.want {
				t.Fatalf("claimed %v, want %s", got, tc.want)
			}
			if state.Tasks.Find(got.ID) != got {
				t.Error("the task is not of the state that was returned")
			}
			if got.Status != TaskRunning || *got.WorkerID != testWorker || !got.LeaseExpiresAt.Equal(at(130)) || !got.StartedAt.Equal(at(100)) {
				t.Errorf("claimed as %+v", got)
			}
		})
	}
}

func TestW2LaterTaskStartsWhileTheOperatorStillWorks(t *testing.T) {
	w := newWorld(t)
	first := w.claim()
	w.flow(first)
	second := w.request(Change{Kind: TaskScale, Replicas: []ComponentReplicas{{"server", 1}}})
	if got := w.claim(); got != second {
		t.Errorf("claimed %s, want %s", got, second)
	}
	w.wantResult(first, ResultRunning)
	w.write(second)
	w.wantResult(first, ResultSuperseded)
}

func TestW3ThreeLostLeasesFailTheTask(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	w.start(task, stepSpecWrite)
	started := w.now
	for lost := 1; lost <= 2; lost++ {
		w.pass(testLease)
		if got := w.claim(); got != task {
			t.Fatalf("claimed %s, want the lost task again", got)
		}
		if got := w.Tasks.Find(task); got.LostLeases != lost || !got.StartedAt.Equal(noon) {
			t.Errorf("lost %d leases, started %s", got.LostLeases, got.StartedAt)
		}
	}
	// It goes on at its first unfinished step, in the same attempt.
	w.start(task, stepSpecWrite)
	w.wantAttempts(task, stepSpecWrite, StepAttempt{Status: StepRunning, StartedAt: started})

	w.pass(testLease)
	if _, got, err := Claim([]*State{w.State}, testWorker, testLease, w.now); err != nil || got != nil {
		t.Fatalf("claimed %v (%v), want nothing", got, err)
	}
	w.wantResult(task, ResultFailed)
	w.wantReason(task, "task "+task+" failed: worker lost")
	w.wantAttempts(task, stepSpecWrite, StepAttempt{Status: StepCancelled, StartedAt: started, EndedAt: &w.now})
	w.wantSteps(task, StepCancelled, StepCancelled, StepCancelled, StepCancelled)
}

// Case D04: the worker was lost after it had written.
func TestW3CaseD04WorkerLost(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.write(task)
	w.pass(5)
	w.report(instance, "Ready", "Running")
	w.wantStatus(DeploymentDeploying)
	for range maxLostLeases {
		w.pass(testLease)
		if _, _, err := Claim([]*State{w.State}, testWorker, testLease, w.now); err != nil {
			t.Fatal(err)
		}
	}
	w.wantReason(task, "task "+task+" failed: worker lost")
	w.wantStatus(DeploymentDeploying)
	w.report(instance, "Ready", "Running")
	w.wantStatus(DeploymentRunning)

	// Half an hour later the lost flow claims success. Its end is final.
	w.pass(1800)
	before := w.Clone()
	_, err := w.FinishTask(task, testWorker, TaskSuccess, nil, w.now)
	wantCode(t, err, CodeConflict, "")
	_, err = w.FinishTask(task, "worker-0", TaskSuccess, nil, w.now)
	wantCode(t, err, CodeLeaseLost, "")
	if diff := cmp.Diff(before, w.State); diff != "" {
		t.Errorf("the late end changed (-before +after):\n%s", diff)
	}
}

func TestW3LeasePassesToAnotherWorker(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	w.start(task, stepSpecWrite)
	w.pass(testLease + 5)
	// It has run out, but no one else has it yet.
	w.must(w.RenewLease(task, testWorker, 60, w.now))
	if got := w.Tasks.Find(task).LeaseExpiresAt; !got.Equal(w.now.Add(time.Minute)) {
		t.Errorf("lease until %s", got)
	}
	w.pass(60)
	if _, got, err := Claim([]*State{w.State}, "worker-2", testLease, w.now); err != nil || got == nil {
		t.Fatalf("claimed %v (%v)", got, err)
	}
	step := w.step(task, stepSpecWrite).ID
	calls := map[string]func() error{
		"renewing": func() error { return w.RenewLease(task, testWorker, 30, w.now) },
		"starting a step": func() error {
			_, err := w.StartStep(task, testWorker, step, w.now)
			return err
		},
		"finishing a step": func() error {
			_, err := w.FinishStep(task, testWorker, step, nil, w.now)
			return err
		},
		"starting a hook task": func() error {
			_, err := w.StartHookTask(task, testWorker, step, Change{}, w.now, w.newID)
			return err
		},
		"recording a write": func() error {
			_, err := w.RecordSpecWrite(task, testWorker, w.now)
			return err
		},
		"recording a deletion": func() error { return w.RecordDeletionRequest(task, testWorker, w.now) },
		"finishing the task": func() error {
			_, err := w.FinishTask(task, testWorker, TaskSuccess, nil, w.now)
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { wantCode(t, call(), CodeLeaseLost, "") })
	}
}

func TestW3RefusedClaims(t *testing.T) {
	for _, seconds := range []int{-1, 0, 3601} {
		_, _, err := Claim(nil, testWorker, seconds, noon)
		wantCode(t, err, CodeInvalidInput, "leaseSeconds")
		wantCode(t, (&State{}).RenewLease("t", testWorker, seconds, noon), CodeInvalidInput, "leaseSeconds")
	}
	for _, worker := range []string{"", "w\x00", strings.Repeat("w", MaxNameBytes+1)} {
		_, _, err := Claim(nil, worker, 30, noon)
		wantCode(t, err, CodeInvalidInput, "workerId")
	}
}
