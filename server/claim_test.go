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
	for lost, worker := range []string{"worker-2", testWorker} {
		w.pass(testLease)
		w.claimAs(worker, task)
		if got := w.Tasks.Find(task); got.LostLeases != lost+1 || !got.StartedAt.Equal(noon) {
			t.Errorf("lost %d leases, started %s", got.LostLeases, got.StartedAt)
		}
	}
	// It goes on at its first unfinished step, in the same attempt.
	w.start(task, stepSpecWrite)
	w.wantAttempts(task, stepSpecWrite, StepAttempt{Status: StepRunning, StartedAt: started})

	w.pass(testLease)
	w.claimAs("worker-2", "")
	w.wantResult(task, ResultFailed)
	w.wantReason(task, "task "+task+" failed: worker lost")
	w.wantAttempts(task, stepSpecWrite, StepAttempt{Status: StepCancelled, StartedAt: started, EndedAt: &w.now})
	w.wantSteps(task, StepCancelled, StepCancelled, StepCancelled, StepCancelled)
}

// claimAs claims as that worker, which must get the task, or nothing where that is
// "".
func (w *world) claimAs(worker, task string) {
	w.t.Helper()
	_, claimed, err := Claim([]*State{w.State}, worker, testLease, w.now)
	w.must(err)
	got := ""
	if claimed != nil {
		got = claimed.ID
	}
	if got != task {
		w.t.Fatalf("%s claimed %q, want %q", worker, got, task)
	}
}

func (w *world) wantLost(task string, want int) {
	w.t.Helper()
	if got := w.Tasks.Find(task).LostLeases; got != want {
		w.t.Errorf("%d leases were lost, want %d", got, want)
	}
}

// TestW3OnlyLossesWithoutProgressCount: a long flow may come through more of them.
func TestW3OnlyLossesWithoutProgressCount(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	lose := func() {
		w.t.Helper()
		for i, worker := range []string{"worker-2", testWorker} {
			w.pass(testLease)
			w.claimAs(worker, task)
			w.wantLost(task, i+1)
		}
	}
	lose()
	instance := w.write(task)
	w.wantLost(task, 0)
	lose()
	w.report(instance, "CreatingPrerequisites", "Deploying")
	w.wantLost(task, 2)
	w.report(instance, "CreatingHelmRelease", "Deploying")
	w.wantLost(task, 0)
}

// TestW3AWorkerThatClaimsItsOwnTaskAgainIsNotLost: it did not learn of its first
// claim.
func TestW3AWorkerThatClaimsItsOwnTaskAgainIsNotLost(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	for range maxLostLeases {
		w.pass(testLease)
		w.claimAs(testWorker, task)
	}
	w.wantLost(task, 0)
}

// TestW3AWorkerThatHandsItsTaskOverIsNotLost: before it ends, it lets its lease run
// out sooner than it would have.
func TestW3AWorkerThatHandsItsTaskOverIsNotLost(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	for _, worker := range []string{"worker-2", testWorker, "worker-2", testWorker} {
		w.must(w.RenewLease(task, *w.Tasks.Find(task).WorkerID, 1, w.now))
		w.pass(1)
		w.claimAs(worker, task)
		w.wantLost(task, 0)
	}
	w.must(w.RenewLease(task, testWorker, 1, w.now))
	w.must(w.RenewLease(task, testWorker, testLease, w.now))
	w.pass(testLease)
	w.claimAs("worker-2", task)
	w.wantLost(task, 1)
}

// TestW3AHandOverIsALeaseShorterThanTheClaims, whatever the clocks say: the replicas
// of the server each have one of their own.
func TestW3AHandOverIsALeaseShorterThanTheClaims(t *testing.T) {
	for name, test := range map[string]struct {
		// renewals are the leases that the worker asks for, each of a server whose clock
		// goes ahead of the first one's by so many seconds.
		renewals []struct{ lease, ahead int }
		wantLost int
	}{
		"a renewal by a clock that is behind is none": {renewals: []struct{ lease, ahead int }{{testLease, -5}}, wantLost: 1},
		"one by a clock that is ahead is one":         {renewals: []struct{ lease, ahead int }{{1, testLease}}, wantLost: 0},
		"one that is repeated stays one":              {renewals: []struct{ lease, ahead int }{{1, 0}, {1, 0}}, wantLost: 0},
		"going back from a longer lease is none":      {renewals: []struct{ lease, ahead int }{{2 * testLease, 0}, {testLease, 0}}, wantLost: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			task := w.claim()
			for _, renewal := range test.renewals {
				w.must(w.RenewLease(task, testWorker, renewal.lease, w.now.Add(time.Duration(renewal.ahead)*time.Second)))
			}
			w.pass(2 * testLease)
			w.claimAs("worker-2", task)
			w.wantLost(task, test.wantLost)
		})
	}
}

// Case D04: the worker was lost after it had written.
func TestW3CaseD04WorkerLost(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.write(task)
	w.pass(5)
	w.report(instance, "Ready", "Running")
	w.wantStatus(DeploymentDeploying)
	for _, claim := range []struct{ worker, task string }{{"worker-2", task}, {testWorker, task}, {"worker-2", ""}} {
		w.pass(testLease)
		w.claimAs(claim.worker, claim.task)
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
