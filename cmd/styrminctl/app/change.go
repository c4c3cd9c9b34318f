// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// change is what a command changed, as -o json shows it.
type change struct {
	Deployment   string `json:"deployment"`
	DeploymentID string `json:"deploymentId"`
	// Change says what was asked for, or unchanged.
	Change string `json:"change"`
	// Task carries it out. Nil: nothing changes.
	Task *sdk.Task `json:"task,omitempty"`
	// Waited is the outcome, with --wait.
	*outcomeFields
}

// outcomeFields are those of sdk.Waited that the change does not have.
type outcomeFields struct {
	Succeeded     bool   `json:"succeeded"`
	FailureReason string `json:"failureReason,omitempty"`
	TimedOut      bool   `json:"timedOut"`
}

const unchanged = "unchanged"

// changing is what the commands that change a deployment have in common.
type changing struct {
	place
	waiting
	output
}

func (c *changing) addFlags(a *app, command *cobra.Command) {
	c.place.addFlags(a, command)
	c.waiting.addFlags(command)
	addOutput(command, &c.output, outputJSON, outputYAML, outputName)
}

// ask asks for a change of a deployment.
type ask func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error)

// change asks for the change of the named deployment, tells of it and waits for
// it where that is wanted.
func (a *app) change(ctx context.Context, name, what string, options *changing, ask ask) error {
	client, err := a.connect()
	if err != nil {
		return err
	}
	deployment, _, err := a.deployment(ctx, client, name, options.place)
	if err != nil {
		return err
	}
	task, err := ask(ctx, client, deployment.ID)
	if err != nil {
		return err
	}
	made := newChange(deployment.Name, deployment.ID, what, task)
	a.tell(options.output, made, options.wait)
	end := a.clock().Add(options.timeout)
	if options.wait {
		err = a.await(ctx, client, made, end, options.output)
	}
	if options.output == outputJSON || options.output == outputYAML {
		return errors.Join(a.encode(options.output, made), err)
	}
	return err
}

func newChange(name, id, what string, task *sdk.Task) *change {
	if task == nil {
		what = unchanged
	}
	return &change{Deployment: name, DeploymentID: id, Change: what, Task: task}
}

// tell says what was asked for, in a line. Nobody who waits needs the id of the
// task.
func (a *app) tell(format output, made *change, waits bool) {
	switch {
	case format == outputName && made.Task != nil:
		a.print("task/%s", made.Task.ID)
	case format.isForScripts():
	case made.Task == nil || waits:
		a.print("deployment/%s %s", made.Deployment, made.Change)
	default:
		a.print("deployment/%s %s (task/%s)", made.Deployment, made.Change, made.Task.ID)
	}
}

// await waits until the change has finished.
func (a *app) await(ctx context.Context, client *sdk.Client, made *change, end time.Time, format output) error {
	var waited *sdk.Waited
	var err error
	if made.Task != nil {
		waited, err = a.follow(ctx, client, made.Task, made.Deployment, max(0, end.Sub(a.clock())))
	} else {
		waited, err = a.settle(ctx, client, made, end)
	}
	if err != nil {
		return err
	}
	return a.ended(made, waited, format)
}

// leadsTo tells whether the task rolls out, or has rolled out, what is to run. One
// that ended without having written that says nothing about it.
func leadsTo(task *sdk.Task, deployment *sdk.Deployment) bool {
	if task.Kind == sdk.TaskRunJob {
		return false
	}
	return task.Result == sdk.ResultRunning || deployment.Instance != nil && task.InstanceID == deployment.Instance.ID
}

// settle waits where nothing changes: for the rollout which has led, or still leads,
// to what is asked for; where that is not known any more, until the status of the
// deployment is an end. As the wait for a task does, it looks again after what may
// pass, and a wait that is over has what was last read.
func (a *app) settle(ctx context.Context, client *sdk.Client, made *change, end time.Time) (*sdk.Waited, error) {
	last := &sdk.Waited{FailureReason: "wait timeout", TimedOut: true}
	alone, told := false, false
	for {
		deployment, task, err := lookAt(ctx, client, made.DeploymentID, alone, end.Sub(a.clock()))
		last.Deployment = cmp.Or(deployment, last.Deployment)
		left := end.Sub(a.clock())
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !mayPass(err):
			return nil, err
		case task != nil:
			return a.follow(ctx, client, task, made.Deployment, max(0, left))
		case err == nil:
			if waited := settled(deployment); waited != nil {
				return waited, nil
			}
			alone = true
		}
		if left <= 0 {
			return last, nil
		}
		if err != nil && !told {
			a.say("deployment/%s: trying again: %s", made.Deployment, oneLine(err.Error()))
		}
		told = err != nil
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(a.interval, left)):
		}
	}
}

// leastLook is how long a look may take though the wait ends before.
const leastLook = 5 * time.Second

// lookAt reads the deployment and, unless it is known to be alone, the task that
// leads to what it is to run; nil: none does. A server that hangs does not hold the
// wait longer than it is to last.
func lookAt(ctx context.Context, client *sdk.Client, id string, alone bool, left time.Duration) (*sdk.Deployment, *sdk.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, leastLook))
	defer cancel()
	deployment, err := client.Deployments.Get(ctx, id)
	if err != nil || alone {
		return deployment, nil, err
	}
	task, err := newestTask(ctx, client, id, func(task *sdk.Task) bool { return leadsTo(task, deployment) })
	return deployment, task, err
}

// mayPass tells whether another look may work. The deadline is that of one look.
func mayPass(err error) bool {
	return errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, sdk.ErrInternal) || errors.Is(err, sdk.ErrNoToken) ||
		errors.Is(err, context.DeadlineExceeded)
}

// settled tells how it ended with a deployment that no task is known to change, in
// the words of the wait for a task; nil: it has not ended.
func settled(deployment *sdk.Deployment) *sdk.Waited {
	switch status := deployment.Status; status {
	case sdk.StatusRunning:
		return &sdk.Waited{Succeeded: true, Deployment: deployment}
	case sdk.StatusFailed, sdk.StatusDeleted:
		reason := fmt.Sprintf("deployment status is %s, expected running", strings.ToLower(string(status)))
		return &sdk.Waited{FailureReason: reason, Deployment: deployment}
	}
	return nil
}

// manyTasks is how far back a task is looked for.
const manyTasks = 50

// newestTask is the last task of a deployment of which the test is true and that
// no hook has started, or nil.
func newestTask(ctx context.Context, client *sdk.Client, id string, is func(*sdk.Task) bool) (*sdk.Task, error) {
	tasks, err := client.Tasks.List(ctx, id, manyTasks)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		if tasks[i].ParentTaskID == "" && is(&tasks[i]) {
			return &tasks[i], nil
		}
	}
	return nil, nil
}

// ended tells the outcome: of success a line, of anything else an error.
func (a *app) ended(made *change, waited *sdk.Waited, format output) error {
	made.outcomeFields = &outcomeFields{waited.Succeeded, waited.FailureReason, waited.TimedOut}
	if made.Task != nil && waited.Task != nil {
		made.Task = waited.Task
	}
	if !waited.Succeeded {
		return &outcomeError{made.Deployment, waited}
	}
	if !format.isForScripts() {
		a.print("deployment/%s is %s", made.Deployment, waited.Deployment.Status)
	}
	return nil
}
