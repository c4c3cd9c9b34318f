// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "testing"

func TestR6PhaseMovesSteps(t *testing.T) {
	const (
		pending   = StepPending
		running   = StepRunning
		succeeded = StepSucceeded
	)
	cases := map[string]struct {
		phase, displayState string
		conditions          []Condition
		want                []StepStatus
	}{
		"before any report the first step runs":                               {"", "", nil, []StepStatus{running, pending, pending, pending}},
		"CreatingPrerequisites: the first step runs":                          {"CreatingPrerequisites", "Deploying", nil, []StepStatus{running, pending, pending, pending}},
		"CreatingHelmRelease: the second runs, the first has succeeded":       {"CreatingHelmRelease", "Deploying", nil, []StepStatus{succeeded, running, pending, pending}},
		"CreatingServices: the third runs, skipped ones have succeeded":       {"CreatingServices", "Deploying", nil, []StepStatus{succeeded, succeeded, running, pending}},
		"CreatingServices with ServicesReady: the fourth runs":                {"CreatingServices", "Deploying", allConditions(1, 2, 3), []StepStatus{succeeded, succeeded, succeeded, running}},
		"Ready: all have succeeded":                                           {"Ready", "Running", nil, []StepStatus{succeeded, succeeded, succeeded, succeeded}},
		"Ready with Error: all have succeeded":                                {"Ready", "Error", nil, []StepStatus{succeeded, succeeded, succeeded, succeeded}},
		"Ready while it settles: all have succeeded":                          {"Ready", "Deploying", nil, []StepStatus{succeeded, succeeded, succeeded, succeeded}},
		"an unknown phase moves nothing":                                      {"Meditating", "Running", nil, []StepStatus{running, pending, pending, pending}},
		"a condition that is True ahead of the phase moves nothing by itself": {"CreatingPrerequisites", "Deploying", allConditions(1, 2), []StepStatus{running, pending, pending, pending}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			task := w.claim()
			instance := w.flow(task)
			w.pass(5)
			observed := reported(instance, tc.phase, tc.displayState)
			observed.Conditions = tc.conditions
			w.reportObject(observed)
			w.wantSteps(task, tc.want...)
		})
	}
}

func TestR6StepsNeverGoBack(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.flow(task)
	w.report(instance, "CreatingServices", "Deploying")
	w.report(instance, "CreatingPrerequisites", "Deploying")
	w.wantSteps(task, StepSucceeded, StepSucceeded, StepRunning, StepPending)
	w.report(instance, "Ready", "Running")
	w.report(instance, "CreatingHelmRelease", "Deploying")
	w.report(instance, "Failed", "Error")
	w.wantSteps(task, StepSucceeded, StepSucceeded, StepSucceeded, StepSucceeded)
	w.wantStatus(DeploymentFailed)
}

func TestR6RecordingStartsTheFirstStep(t *testing.T) {
	w := running(t)
	w.request(Change{Kind: TaskScale, Replicas: []ComponentReplicas{{"server", 2}}})
	task := w.claim()
	w.start(task, stepSpecWrite)
	w.wantSteps(task, StepPending, StepPending, StepPending, StepPending)
	w.pass(1)
	_, err := w.RecordSpecWrite(task, testWorker, w.now)
	w.must(err)
	w.wantAttempts(task, stepPrerequisites, StepAttempt{Status: StepRunning, StartedAt: w.now})
}

func TestR13InternalDeploymentsHaveNoOperatorSteps(t *testing.T) {
	w := newWorld(t)
	w.Deployment.Internal = true
	w.Tasks = nil
	w.request(Change{Kind: TaskCreate, Spec: []byte(shopSpec)})
	task := w.claim()
	instance := w.flow(task)
	w.wantSteps(task)
	w.wantResult(task, ResultSucceeded)
	w.report(instance, "CreatingServices", "Deploying")
	w.wantStatus(DeploymentDeploying)
	w.report(instance, "Ready", "Running")
	w.wantStatus(DeploymentRunning)

	w.request(Change{Kind: TaskDelete})
	deletion := w.claim()
	w.start(deletion, stepDeletionRequest)
	w.must(w.RecordDeletionRequest(deletion, testWorker, w.now))
	w.finish(deletion, stepDeletionRequest)
	w.end(deletion, TaskSuccess)
	w.wantResult(deletion, ResultSucceeded)
	w.report(instance, "Deleted", "Deleted")
	w.wantStatus(DeploymentDeleted)
}

func TestR7FailureFailsTheFirstUnfinishedStep(t *testing.T) {
	const failed, pending, succeeded = StepFailed, StepPending, StepSucceeded
	cases := map[string]struct {
		phase, displayState string
		conditions          []Condition
		want                []StepStatus
	}{
		"phase Failed without conditions: the first fails":                 {"Failed", "Error", nil, []StepStatus{failed, pending, pending, pending}},
		"phase Failed alone is enough":                                     {"Failed", "Deploying", nil, []StepStatus{failed, pending, pending, pending}},
		"steps whose condition is True succeed first":                      {"Failed", "Error", allConditions(1), []StepStatus{succeeded, failed, pending, pending}},
		"the ready step fails when all others are done":                    {"Failed", "Error", allConditions(1, 2, 3), []StepStatus{succeeded, succeeded, succeeded, failed}},
		"a later step whose condition is True succeeds too":                {"Failed", "Error", []Condition{condition("PrerequisitesReady", 1), condition("ServicesReady", 2)}, []StepStatus{succeeded, failed, succeeded, pending}},
		"Error in a phase that is unknown is a failure too":                {"Meditating", "Error", allConditions(1), []StepStatus{succeeded, failed, pending, pending}},
		"Error in a working phase: the steps before the phase succeed":     {"CreatingHelmRelease", "Error", nil, []StepStatus{succeeded, failed, pending, pending}},
		"Error while it waits for readiness: the ready step fails":         {"CreatingServices", "Error", allConditions(1, 2, 3), []StepStatus{succeeded, succeeded, succeeded, failed}},
		"a condition of an older generation counts as not True (case D02)": {"Failed", "Error", []Condition{{Type: "PrerequisitesReady", Status: "True", ObservedGeneration: ptr(int64(0)), LastTransitionTime: at(1)}}, []StepStatus{failed, pending, pending, pending}},
		"a condition that is Unknown counts as not True":                   {"Failed", "Error", []Condition{{Type: "PrerequisitesReady", Status: "Unknown", LastTransitionTime: at(1)}}, []StepStatus{failed, pending, pending, pending}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			task := w.claim()
			instance := w.flow(task)
			w.pass(5)
			observed := reported(instance, tc.phase, tc.displayState)
			observed.Conditions, observed.Message = tc.conditions, ptr("no luck")
			w.reportObject(observed)
			w.wantSteps(task, tc.want...)
			for i, status := range tc.want {
				if step := w.Tasks.Find(task).operatorSteps()[i]; status == failed && *step.Error() != "no luck" {
					t.Errorf("error of %q is %q", step.Name, *step.Error())
				}
			}
			w.wantResult(task, ResultFailed)
		})
	}
}

func TestR8FailedStepRunsAgain(t *testing.T) {
	rollout := func(t *testing.T) (*world, string, string) {
		w := newWorld(t)
		task := w.claim()
		instance := w.flow(task)
		w.pass(5)
		w.report(instance, "CreatingHelmRelease", "Deploying")
		w.pass(5)
		observed := reported(instance, "Failed", "Error")
		observed.Conditions, observed.Message = allConditions(4), ptr("first")
		w.reportObject(observed)
		return w, task, instance
	}
	failed := StepAttempt{Status: StepFailed, StartedAt: at(5), EndedAt: atPtr(10), Error: ptr("first")}

	t.Run("as a new attempt when the operator works on it again", func(t *testing.T) {
		w, task, instance := rollout(t)
		w.wantResult(task, ResultFailed)
		w.pass(5)
		w.report(instance, "CreatingHelmRelease", "Deploying")
		w.wantAttempts(task, stepHelmRelease, failed, StepAttempt{Status: StepRunning, StartedAt: at(15)})
		w.wantResult(task, ResultRunning)
	})
	t.Run("and makes one attempt only, however often that is reported (case D05)", func(t *testing.T) {
		w, task, instance := rollout(t)
		for range 3 {
			w.pass(5)
			w.report(instance, "CreatingHelmRelease", "Deploying")
		}
		w.wantAttempts(task, stepHelmRelease, failed, StepAttempt{Status: StepRunning, StartedAt: at(15)})
	})
	t.Run("for ever, of which a hundred attempts are kept (case D05)", func(t *testing.T) {
		w, task, instance := rollout(t)
		for range 2 * maxAttempts {
			w.pass(5)
			w.report(instance, "CreatingHelmRelease", "Deploying")
			w.report(instance, "Failed", "Error")
		}
		attempts := w.step(task, stepHelmRelease).Attempts
		if first, last := attempts[0], attempts[len(attempts)-1]; len(attempts) != maxAttempts || last.Number != maxAttempts ||
			!first.StartedAt.Equal(at(5)) || !last.StartedAt.Equal(w.now) || last.Status != StepFailed {
			t.Errorf("%d attempts, from %+v to %+v", len(attempts), first, last)
		}
	})
	t.Run("and not while the operator works on an earlier step", func(t *testing.T) {
		w, task, instance := rollout(t)
		w.report(instance, "CreatingPrerequisites", "Deploying")
		w.wantAttempts(task, stepHelmRelease, failed)
	})
	t.Run("a repeated failure refreshes the message alone", func(t *testing.T) {
		w, task, instance := rollout(t)
		w.pass(5)
		observed := reported(instance, "Failed", "Error")
		observed.Message = ptr("second")
		w.reportObject(observed)
		second := failed
		second.Error = ptr("second")
		w.wantAttempts(task, stepHelmRelease, second)
	})
	t.Run("working with display state Error is the failure repeated", func(t *testing.T) {
		w, task, instance := rollout(t)
		w.pass(5)
		observed := reported(instance, "CreatingHelmRelease", "Error")
		observed.Message = ptr("second")
		w.reportObject(observed)
		second := failed
		second.Error = ptr("second")
		w.wantAttempts(task, stepHelmRelease, second)
	})
	t.Run("it succeeds when a later phase is reported", func(t *testing.T) {
		w, task, instance := rollout(t)
		w.pass(5)
		observed := reported(instance, "CreatingServices", "Deploying")
		observed.Conditions = allConditions(4, 12)
		w.reportObject(observed)
		w.wantAttempts(task, stepHelmRelease, failed,
			StepAttempt{Status: StepSucceeded, StartedAt: at(15), EndedAt: atPtr(15)})
		w.wantSteps(task, StepSucceeded, StepSucceeded, StepRunning, StepPending)
		w.wantResult(task, ResultRunning)
	})
	t.Run("it succeeds when a later failure shows its condition True", func(t *testing.T) {
		w, task, instance := rollout(t)
		observed := reported(instance, "Failed", "Error")
		observed.Conditions = allConditions(4, 12)
		w.reportObject(observed)
		w.wantSteps(task, StepSucceeded, StepSucceeded, StepFailed, StepPending)
	})
}

func TestR4DoubtfulReports(t *testing.T) {
	cases := map[string]func(*DeploymentStatus){
		"with the instance read from the spec (case D01)": func(o *DeploymentStatus) {
			o.Generation, o.ObservedGeneration, o.InstanceSource = 8, ptr(int64(7)), InstanceSourceSpec
		},
		"with the instance read from the spec, without a generation (case H01)": func(o *DeploymentStatus) {
			o.ObservedGeneration, o.InstanceSource = nil, InstanceSourceSpec
		},
		"of an older generation": func(o *DeploymentStatus) { o.Generation = 2 },
	}
	for name, doubt := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			task := w.claim()
			instance := w.flow(task)
			for _, words := range [][2]string{{"Ready", "Running"}, {"CreatingServices", "Deploying"}, {"Failed", "Error"}} {
				observed := reported(instance, words[0], words[1])
				doubt(&observed)
				w.reportObject(observed)
				w.wantSteps(task, StepRunning, StepPending, StepPending, StepPending)
				w.wantStatus(DeploymentDeploying)
				if w.Observed.Phase != words[0] {
					t.Errorf("the row of phase %s was not stored", words[0])
				}
			}
			w.report(instance, "Ready", "Running")
			w.wantStatus(DeploymentRunning)

			// The task's result is no longer RUNNING: the display state counts, but
			// RUNNING is of the declared spec only (R5).
			observed := reported(instance, "Ready", "Error")
			doubt(&observed)
			w.reportObject(observed)
			w.wantStatus(DeploymentFailed)
			observed.DisplayState = "Running"
			w.reportObject(observed)
			if isBehind(&observed) {
				w.wantStatus(DeploymentDeploying)
			} else {
				w.wantStatus(DeploymentRunning)
			}
		})
	}
}

func TestR4DeletingAndDeletedAreExempt(t *testing.T) {
	w := newWorld(t)
	instance := w.write(w.claim())
	observed := reported(instance, "Deleting", "Deleting")
	observed.Generation = 2
	w.reportObject(observed)
	w.wantStatus(DeploymentDeleting)
	// One of the server that it was not asked to delete is never deleted (R9).
	w.Deployment.ManagedBy = DeploymentManagerCluster
	observed.Phase, observed.DisplayState, observed.InstanceSource = "Deleted", "Deleted", InstanceSourceSpec
	w.reportObject(observed)
	w.wantStatus(DeploymentDeleted)
}
