// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// runHook has a task of its own do what a hook step is for, and waits for its
// result (W1). A hook whose task was started already, by whoever ran the step
// before, only waits.
func (f *flow) runHook(ctx context.Context, step *StepFields) error {
	id, err := f.hookTask(ctx, step)
	if err != nil {
		return err
	}
	var sought time.Time
	for {
		task, err := f.server.task(ctx, id)
		switch {
		case err != nil:
			return err
		case task.Result == TaskResultSucceeded:
			return nil
		case task.Result != TaskResultRunning:
			return hookFailure(task)
		}
		// One that another worker runs is looked for once a lease, since that worker
		// may have been lost: each look may bring another task instead.
		if !f.flows.runs(id) && (task.Status == TaskStatusPending || f.clock.Since(sought) >= f.opts.Lease) {
			f.flows.waitForHook()
			sought = f.clock.Now()
		}
		if err := pauseFor(ctx, f.clock, f.pollPause()); err != nil {
			return err
		}
	}
}

// hookTask returns the id of the task that the hook step has started.
func (f *flow) hookTask(ctx context.Context, step *StepFields) (string, error) {
	if len(step.Tasks) > 0 {
		return step.Tasks[0].Id, nil
	}
	spec, err := f.server.writtenSpec(ctx, f.task.DeploymentId)
	if err != nil {
		return "", err
	}
	input, err := hookInput(f.task, step.Id, spec)
	if err != nil {
		return "", err
	}
	return f.server.startHookTask(ctx, f.id, step.Id, input)
}

// hookFailure is why a hook's task did not succeed.
func hookFailure(task *TaskFields) error {
	if task.FailureReason != nil && *task.FailureReason != "" {
		return errors.New(*task.FailureReason)
	}
	return fmt.Errorf("the result of task %s is %s", task.Id, task.Result)
}

// hookInput finds in the deployment's spec what a hook step does: the n-th hook
// step before the task's own step is the n-th of the pre hooks, the n-th after it
// the n-th of the post hooks.
func hookInput(task *TaskFields, stepID string, rawSpec []byte) (HookTaskInput, error) {
	phase, number := "pre", 0
	for i := range task.Steps {
		step := &task.Steps[i]
		if step.Id == stepID {
			break
		}
		switch step.Kind {
		case StepKindHook:
			number++
		case StepKindFlow:
			phase, number = "post", 0
		}
	}
	var spec styrminv1.StyrminDeploymentSpec
	if err := json.Unmarshal(rawSpec, &spec); err != nil {
		return HookTaskInput{}, fmt.Errorf("reading the deployment's spec: %w", err)
	}
	var actions []styrminv1.HookAction
	if spec.Hooks != nil && spec.Hooks.Upgrade != nil {
		actions = spec.Hooks.Upgrade.Pre
		if phase == "post" {
			actions = spec.Hooks.Upgrade.Post
		}
	}
	if number >= len(actions) {
		return HookTaskInput{}, fmt.Errorf("the deployment's spec has no hook upgrade.%s[%d] any more", phase, number)
	}
	switch action := actions[number]; {
	case len(action.StopComponents) > 0:
		return HookTaskInput{Action: HookActionStopComponents, Components: action.StopComponents}, nil
	case len(action.StartComponents) > 0:
		return HookTaskInput{Action: HookActionStartComponents, Components: action.StartComponents}, nil
	case action.RunJob != "":
		return HookTaskInput{Action: HookActionRunJob, Job: &action.RunJob}, nil
	default:
		return HookTaskInput{}, fmt.Errorf("the hook upgrade.%s[%d] says nothing that this version of the agent can do", phase, number)
	}
}
