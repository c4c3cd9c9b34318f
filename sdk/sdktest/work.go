// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// idle is how long an agent at work waits for the next task.
const idle = 20 * time.Millisecond

// Work lets the agent carry out every task that comes, until the test ends: the
// flow, its hooks, and what the operator does then. An application of
// BrokenVersion fails; a job named fail does, too.
func (a *Agent) Work(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.work(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("The agent: %v", err)
		}
	})
}

// Settle waits until an agent at work has nothing left to do of what was asked
// for before.
func (a *Agent) Settle(ctx context.Context) {
	settled := make(chan struct{})
	select {
	case a.settled <- settled:
	case <-ctx.Done():
		return
	}
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

func (a *Agent) work(ctx context.Context) error {
	var waiting []chan struct{}
	for {
		did, err := a.workOnce(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if did && err == nil {
			continue
		}
		for _, settled := range waiting {
			close(settled)
		}
		waiting = nil
		select {
		case <-ctx.Done():
			return nil
		case settled := <-a.settled:
			waiting = append(waiting, settled)
		case <-time.After(idle):
		}
	}
}

// workOnce carries out the next task, if there is one.
func (a *Agent) workOnce(ctx context.Context) (bool, error) {
	task, err := a.claim(ctx)
	if err != nil || task == nil {
		return false, err
	}
	return true, a.carryOut(ctx, task)
}

// carryOut runs the flow of a task. The operator's part comes when the flow is
// over, or before the first step that waits for it.
func (a *Agent) carryOut(ctx context.Context, task *assignment) error {
	written, operated := false, false
	for _, step := range task.Task.Steps {
		if step.Kind == "OPERATOR_PHASE" {
			continue
		}
		if written && !operated {
			if err := a.operate(ctx, task); err != nil {
				return err
			}
			operated = true
			if o := a.objects[task.Task.DeploymentID]; o.phase == phaseFailed {
				return a.finishTask(ctx, task.Task.ID, "FAILED", o.message)
			}
		}
		failure, err := a.runStep(ctx, task, step)
		if err == nil {
			err = a.finishStep(ctx, task.Task.ID, step.ID, failure)
		}
		if err != nil {
			return err
		}
		if failure != "" {
			return a.finishTask(ctx, task.Task.ID, "FAILED", failure)
		}
		written = written || step.Name == stepWrite
	}
	if err := a.finishTask(ctx, task.Task.ID, "SUCCESS", ""); err != nil {
		return err
	}
	if operated {
		return a.report(ctx)
	}
	return a.operate(ctx, task)
}

// runStep does what a step of the flow is for, and says why it failed.
func (a *Agent) runStep(ctx context.Context, task *assignment, step step) (failure string, err error) {
	if err := a.startStep(ctx, task.Task.ID, step.ID); err != nil {
		return "", err
	}
	job, isJob := strings.CutPrefix(step.Name, "Run job ")
	switch {
	case step.Kind == "HOOK":
		return a.runHook(ctx, task, step)
	case step.Name == stepWrite:
		return "", a.write(ctx, task)
	case step.Name == stepRequest:
		return "", a.call(ctx, `mutation ($t: ID!, $w: ID!) { recordDeletionRequest(taskId: $t, workerId: $w) }`,
			task.Task.ID, nil, &struct{}{})
	case isJob && job == "fail":
		return "job fail: pod fail-1: container fail Error (exit code 1)", nil
	case isJob:
		return "", nil
	}
	return "", fmt.Errorf("the flow has an unknown step %q", step.Name)
}

// runHook starts the task of a hook step, carries it out and waits for its end.
func (a *Agent) runHook(ctx context.Context, task *assignment, step step) (failure string, err error) {
	_, summary, _ := strings.Cut(step.Name, ": ")
	input := map[string]any{}
	switch verb, what, _ := strings.Cut(summary, " "); verb {
	case "stop":
		input = map[string]any{"action": "STOP_COMPONENTS", "components": strings.Split(what, ", ")}
	case "start":
		input = map[string]any{"action": "START_COMPONENTS", "components": strings.Split(what, ", ")}
	case "run":
		input = map[string]any{"action": "RUN_JOB", "job": strings.TrimPrefix(what, "job ")}
	}
	var started struct {
		StartHookTask struct{ ID string }
	}
	err = a.call(ctx, `mutation ($t: ID!, $w: ID!, $s: ID!, $i: HookTaskInput!) {
		startHookTask(taskId: $t, workerId: $w, stepId: $s, input: $i) { id } }`,
		task.Task.ID, map[string]any{"s": step.ID, "i": input}, &started)
	if err != nil {
		return "", err
	}
	if did, err := a.workOnce(ctx); err != nil || !did {
		return "", errors.Join(err, errors.New("the hook task cannot be claimed"))
	}
	var answer struct {
		Task struct{ Result, FailureReason string }
	}
	err = a.do(ctx, `query ($t: ID!) { task(id: $t) { result failureReason } }`, map[string]any{"t": started.StartHookTask.ID}, &answer)
	return answer.Task.FailureReason, err
}

// operate is the operator's work for a task, phase by phase.
func (a *Agent) operate(ctx context.Context, task *assignment) error {
	o := a.objects[task.Task.DeploymentID]
	states := []state{}
	switch {
	case task.Task.Kind == "DELETE":
		states = append(states, state{"Deleting", "Deleting", ""}, state{"Deleted", "Deleted", ""})
	case task.Task.Kind != "RUN_JOB":
		states = append(states, phaseOf("CreatingPrerequisites"), phaseOf("CreatingHelmRelease"))
		if end := o.end(); end.phase == phaseReady {
			states = append(states, phaseOf("CreatingServices"), end)
		} else {
			states = append(states, end)
		}
	}
	for _, state := range states {
		if o != nil {
			o.at(state)
		}
		if err := a.report(ctx); err != nil {
			return err
		}
	}
	if task.Task.Kind == "DELETE" {
		delete(a.objects, task.Task.DeploymentID)
	}
	return a.report(ctx)
}
