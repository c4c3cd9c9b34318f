// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"context"
	"testing"
)

// Flow is a task whose flow a test runs step by step.
type Flow struct {
	// TaskID is the task's.
	TaskID string

	t     testing.TB
	agent *Agent
	task  *assignment
}

// Claim takes the next task, which there must be.
func (a *Agent) Claim(t testing.TB) *Flow {
	t.Helper()
	task, err := a.claim(t.Context())
	must(t, err)
	if task == nil {
		t.Fatal("There is no task to claim")
	}
	return &Flow{TaskID: task.Task.ID, t: t, agent: a, task: task}
}

// step does something for the step of that name.
func (f *Flow) step(name string, do func(ctx context.Context, step step) error) {
	f.t.Helper()
	for _, step := range f.task.Task.Steps {
		if step.Name == name {
			must(f.t, do(f.t.Context(), step))
			return
		}
	}
	f.t.Fatalf("The task has no step %q", name)
}

// Run runs a step of the flow, with its hook task if it has one, and waits for
// its end.
func (f *Flow) Run(name string) {
	f.t.Helper()
	f.step(name, func(ctx context.Context, step step) error {
		failure, err := f.agent.runStep(ctx, f.task, step)
		if err != nil {
			return err
		}
		return f.agent.finishStep(ctx, f.TaskID, step.ID, failure)
	})
}

// Write runs the step that writes the StyrminDeployment.
func (f *Flow) Write() {
	f.t.Helper()
	f.Run(stepWrite)
}

// Fail runs a step of the flow that fails, and with it the flow.
func (f *Flow) Fail(name, failure string) {
	f.t.Helper()
	f.step(name, func(ctx context.Context, step step) error {
		if err := f.agent.startStep(ctx, f.TaskID, step.ID); err != nil {
			return err
		}
		return f.agent.finishStep(ctx, f.TaskID, step.ID, failure)
	})
	f.Abort(failure)
}

// Abort ends the flow as failed.
func (f *Flow) Abort(message string) {
	f.t.Helper()
	must(f.t, f.agent.finishTask(f.t.Context(), f.TaskID, "FAILED", message))
}

// Finish ends the flow.
func (f *Flow) Finish() {
	f.t.Helper()
	must(f.t, f.agent.finishTask(f.t.Context(), f.TaskID, "SUCCESS", ""))
}

// Report says that the operator has come to a phase with what the task wrote.
func (f *Flow) Report(phase, displayState, message string) {
	f.t.Helper()
	f.agent.objects[f.task.Task.DeploymentID].at(state{phase, displayState, message})
	must(f.t, f.agent.report(f.t.Context()))
}

// Operate lets the operator carry out what the task wrote or requested.
func (f *Flow) Operate() {
	f.t.Helper()
	must(f.t, f.agent.operate(f.t.Context(), f.task))
}

// CarryOut does all of it: the flow and the operator's work.
func (f *Flow) CarryOut() {
	f.t.Helper()
	must(f.t, f.agent.carryOut(f.t.Context(), f.task))
}
