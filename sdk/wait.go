// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// How long and how often WaitForTask looks where its caller does not say.
const (
	defaultMaxWait  = 600 * time.Second
	defaultInterval = 10 * time.Second
	// leastLook is how long a look may take though the wait ends before.
	leastLook = 5 * time.Second
)

// waitTimeout is the failure reason of a wait that was not long enough.
const waitTimeout = "wait timeout"

// Waited is the outcome of a change.
type Waited struct {
	// Succeeded: the deployment is running, or deleted after Delete.
	Succeeded bool `json:"succeeded"`
	// FailureReason says why not. Empty: it succeeded.
	FailureReason string `json:"failureReason,omitempty"`
	// TimedOut: the longest wait was over first; the change can still finish.
	TimedOut bool `json:"timedOut"`
	// Task and Deployment as last read. Nil: they never could be read.
	Task       *Task       `json:"task,omitempty"`
	Deployment *Deployment `json:"deployment,omitempty"`
}

// Progress is what one look at a change found.
type Progress struct {
	// Task and Deployment as last read. Nil: they were not read yet.
	Task       *Task
	Deployment *Deployment
	// Err is why they could not be read this time; the wait goes on. Nil: both
	// are from now.
	Err error
}

// WaitOption changes how WaitForTask waits.
type WaitOption func(*waitOptions)

type waitOptions struct {
	maxWait, interval time.Duration
	progress          func(Progress)
}

// MaxWait is how long to wait at most, 600 seconds without it. Zero looks once.
func MaxWait(d time.Duration) WaitOption {
	return func(o *waitOptions) { o.maxWait = d }
}

// Interval is the time between two looks, 10 seconds without it.
func Interval(d time.Duration) WaitOption {
	return func(o *waitOptions) { o.interval = d }
}

// OnProgress calls a function after each look, from the goroutine that waits.
func OnProgress(f func(Progress)) WaitOption {
	return func(o *waitOptions) { o.progress = f }
}

// WaitForTask waits until a change has finished: first until the result of its
// task is decided, and when that is that it succeeded, until the status of the
// deployment is running, failed or deleted. Outcomes are no errors: a change
// that failed is a Waited that says why.
//
// While the server cannot be reached, or fails, or a token source that has worked
// before gives no token, it goes on looking until the longest wait is over. An
// error is what no further look could change, as ErrNotFound or ErrForbidden, or
// the end of ctx; the change goes on all the same.
func (s *DeploymentsService) WaitForTask(ctx context.Context, taskID string, options ...WaitOption) (*Waited, error) {
	chosen := waitOptions{maxWait: defaultMaxWait, interval: defaultInterval, progress: func(Progress) {}}
	for _, option := range options {
		option(&chosen)
	}
	if chosen.interval <= 0 {
		return nil, errors.New("waiting for a task: the interval must be more than zero")
	}
	waited, err := s.wait(ctx, taskID, &chosen)
	if err != nil {
		return nil, fmt.Errorf("waiting for task %s: %w", taskID, err)
	}
	return waited, nil
}

func (s *DeploymentsService) wait(ctx context.Context, taskID string, options *waitOptions) (*Waited, error) {
	end := s.client.now().Add(options.maxWait)
	last := &Waited{FailureReason: waitTimeout, TimedOut: true}
	for {
		task, deployment, err := s.look(ctx, taskID, end.Sub(s.client.now()))
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !isTransient(err) && !errors.Is(err, ErrNoToken):
			return nil, err
		}
		last.Task, last.Deployment = cmp.Or(task, last.Task), cmp.Or(deployment, last.Deployment)
		options.progress(Progress{Task: last.Task, Deployment: last.Deployment, Err: err})
		if waited := decide(task, deployment); waited != nil {
			waited.Task, waited.Deployment = last.Task, last.Deployment
			return waited, nil
		}
		left := end.Sub(s.client.now())
		if left <= 0 {
			return last, nil
		}
		if err := s.client.sleep(ctx, min(options.interval, left)); err != nil {
			return nil, err
		}
	}
}

// look reads the task, and only then its deployment: in the other order, a
// status of before the change could be seen beside the result of the change. It
// returns what it could read. A server that hangs does not hold the wait longer
// than it is to last.
func (s *DeploymentsService) look(ctx context.Context, taskID string, left time.Duration) (task *Task, deployment *Deployment, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(left, leastLook))
	defer cancel()
	defer func() {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w in the time that was left", ErrUnavailable)
		}
	}()
	if task, err = s.client.Tasks.get(ctx, taskID); err != nil {
		return nil, nil, err
	}
	deployment, err = s.get(ctx, task.DeploymentID)
	return task, deployment, err
}

// decide tells the outcome from a task and its deployment as both are now; nil
// for one that could not be read. It returns nil while there is no outcome.
func decide(task *Task, deployment *Deployment) *Waited {
	switch {
	case task == nil || task.Result == ResultRunning:
		return nil
	case task.Result != ResultSucceeded:
		return &Waited{FailureReason: cmp.Or(task.FailureReason, withoutReason(task))}
	case deployment == nil:
		return nil
	}
	want := StatusRunning
	if task.Kind == TaskDelete {
		want = StatusDeleted
	}
	switch got := deployment.Status; got {
	case want:
		return &Waited{Succeeded: true}
	case StatusRunning, StatusFailed, StatusDeleted:
		return &Waited{FailureReason: fmt.Sprintf("deployment status is %s, expected %s", lower(got), lower(want))}
	}
	return nil
}

// withoutReason stands for a reason that the server did not give.
func withoutReason(task *Task) string {
	if task.Result == ResultSuperseded {
		return fmt.Sprintf("task %s was superseded by a later task of the deployment", task.ID)
	}
	return fmt.Sprintf("task %s failed: %s", task.ID, cmp.Or(task.Message, "no reason was given"))
}

func lower(status DeploymentStatus) string { return strings.ToLower(string(status)) }
