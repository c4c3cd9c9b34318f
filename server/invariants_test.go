// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"reflect"
	"slices"
)

// checkChange checks what no change may do.
func (g *game) checkChange(before *State) {
	if moved := !g.Deployment.StatusSince.Equal(before.Deployment.StatusSince); moved && g.Deployment.Status == before.Deployment.Status {
		g.t.Error("the status's time moved without the status")
	}
	if g.Deployment.StatusSince.Before(before.Deployment.StatusSince) {
		g.t.Error("the status's time went back")
	}
	for i := range before.Tasks {
		was, is := &before.Tasks[i], &g.Tasks[i]
		if was.ID != is.ID {
			g.t.Fatalf("task %s went", was.ID)
		}
		if was.FlowEnded() && (was.Status != is.Status || !reflect.DeepEqual(was.Message, is.Message)) {
			g.t.Errorf("the end of the flow of task %s changed", was.ID)
		}
		if was.Recorded() && was.RecordSequence != is.RecordSequence {
			g.t.Errorf("the place of task %s among the writes changed", was.ID)
		}
		for j := range was.Steps {
			if was, is := was.Steps[j], is.Steps[j]; was.Status == StepSucceeded && !reflect.DeepEqual(was, is) {
				g.t.Errorf("step %q moved after it had succeeded", was.Name)
			}
		}
	}
}

// checkState checks what holds in every state.
func (g *game) checkState() {
	g.checkRunning()
	working, flows := 0, 0
	for i := range g.Tasks {
		task := &g.Tasks[i]
		g.checkTask(task)
		if task.Status == TaskRunning && !task.IsHookTask() {
			flows++
		}
		for j := range task.Steps {
			g.checkStep(task, &task.Steps[j])
			if task.Steps[j].Kind == StepOperatorPhase && task.Steps[j].Status == StepRunning {
				working++
			}
		}
	}
	if working > 1 {
		g.t.Errorf("the operator is shown at %d steps", working)
	}
	if flows > 1 {
		g.t.Errorf("%d flows run at once", flows)
	}
}

// checkRunning: RUNNING never while the task of the newest instance or one
// above it runs, nor after a deletion request.
func (g *game) checkRunning() {
	if g.Deployment.Status != DeploymentRunning || g.Deployment.WrittenInstanceID == nil {
		return
	}
	if g.Deployment.DeletionRequestedAt != nil {
		g.t.Error("RUNNING after a deletion request")
	}
	for task := g.Tasks.rollingOut(*g.Deployment.WrittenInstanceID); task != nil; task = g.Tasks.parent(task) {
		if !task.FlowEnded() {
			g.t.Errorf("RUNNING while task %s runs", task.ID)
		}
	}
}

func (g *game) checkTask(task *Task) {
	result := g.Tasks.Result(task.ID)
	if known, decided := g.final[task.ID]; decided && known != result {
		g.t.Errorf("result of task %s went from %s to %s", task.ID, known, result)
	}
	switch result {
	case ResultSucceeded, ResultSuperseded:
		g.final[task.ID] = result
		for i := range task.Steps {
			if task.Steps[i].Unfinished() {
				g.t.Errorf("step %q of task %s, which is %s, is %s", task.Steps[i].Name, task.ID, result, task.Steps[i].Status)
			}
		}
	}
	if reason := g.Tasks.FailureReason(task.ID); (reason != nil) != (result == ResultFailed || result == ResultSuperseded) {
		g.t.Errorf("task %s is %s with reason %v", task.ID, result, reason)
	}

	if steps, frozen := g.frozen[task.ID]; frozen && !reflect.DeepEqual(steps, task.Steps) {
		g.t.Errorf("a step of task %s moved after a later one was recorded", task.ID)
	}
	if task.FlowEnded() && g.overtaken(task) {
		g.frozen[task.ID] = g.Clone().Tasks.Find(task.ID).Steps
	}

	if claimed := task.Status == TaskRunning; claimed && (task.WorkerID == nil || task.LeaseExpiresAt == nil || task.StartedAt == nil) {
		g.t.Errorf("task %s runs without a lease", task.ID)
	}
	if task.FlowEnded() != (task.FinishedAt != nil) || task.LostLeases > maxLostLeases {
		g.t.Errorf("task %s is %s, finished %v, lost %d leases", task.ID, task.Status, task.FinishedAt, task.LostLeases)
	}
	if task.Recorded() && task.InstanceID != nil && g.instance(*task.InstanceID) == nil {
		g.t.Errorf("task %s recorded no instance", task.ID)
	}
}

// overtaken tells whether a write or deletion was recorded after the task's
// that is none of its own hooks'.
func (g *game) overtaken(task *Task) bool {
	own := g.Tasks.below(task)
	for i := range g.Tasks {
		later := &g.Tasks[i]
		if task.Recorded() && later.RecordSequence > task.RecordSequence && !slices.Contains(own, later) {
			return true
		}
	}
	return false
}

func (g *game) checkStep(task *Task, step *Step) {
	if task.FlowEnded() && step.Unfinished() && (step.Kind != StepOperatorPhase || !task.Recorded()) {
		g.t.Errorf("step %q is %s after the flow of task %s", step.Name, step.Status, task.ID)
	}
	if step.Status == StepCancelled && !task.FlowEnded() {
		g.t.Errorf("step %q was cancelled before the flow of task %s ended", step.Name, task.ID)
	}
	if n := len(step.Attempts); n > 0 && step.Attempts[n-1].Status != step.Status {
		g.t.Errorf("step %q is %s, its newest attempt %s", step.Name, step.Status, step.Attempts[n-1].Status)
	}
	if len(step.Attempts) == 0 && step.Status != StepPending && step.Status != StepCancelled {
		g.t.Errorf("step %q is %s without an attempt", step.Name, step.Status)
	}
	for i, attempt := range step.Attempts {
		if attempt.Number != i+1 {
			g.t.Errorf("attempt %d of %q has number %d", i+1, step.Name, attempt.Number)
		}
		if (attempt.Status == StepRunning) != (attempt.EndedAt == nil) || (attempt.Status == StepFailed) != (attempt.Error != nil) {
			g.t.Errorf("attempt of %q is %+v", step.Name, attempt)
		}
		if attempt.StartedAt.Before(noon) || attempt.StartedAt.After(g.now) {
			g.t.Errorf("attempt of %q starts at %s, it is %s", step.Name, attempt.StartedAt, g.now)
		}
		if attempt.EndedAt != nil && (attempt.EndedAt.Before(attempt.StartedAt) || attempt.EndedAt.After(g.now)) {
			g.t.Errorf("attempt of %q lasts from %s to %s, it is %s", step.Name, attempt.StartedAt, attempt.EndedAt, g.now)
		}
		if i > 0 && attempt.StartedAt.Before(*step.Attempts[i-1].EndedAt) {
			g.t.Errorf("attempt %d of %q starts before the one before it ended", i+1, step.Name)
		}
	}
}
