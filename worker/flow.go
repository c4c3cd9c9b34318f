// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/internal/serverclient"
)

// handOverTimeout bounds what a flow that is not done does for the next worker
// when this one ends.
const handOverTimeout = 2 * time.Second

// maxRefusals is how often the server may refuse a move of a flow before the flow
// gives up: what was read may have been old once or twice.
const maxRefusals = 3

// flow carries out one task.
type flow struct {
	*worker
	log logr.Logger
	// id is the task's.
	id string
	// task as last read.
	task *TaskFields
	// object is the StyrminDeployment's namespace and name.
	object client.ObjectKey
	lease  *lease
}

// run runs the flow of a task until it has ended, its lease is lost or the
// context ends.
func (w *worker) run(ctx context.Context, assignment *Assignment, lease *lease) {
	task := &assignment.Task
	f := &flow{
		worker: w, id: task.Id, task: task, lease: lease,
		object: client.ObjectKey{Namespace: assignment.Namespace, Name: assignment.Name},
		log:    w.log.WithValues("task", task.Id, "kind", task.Kind, "deployment", task.DeploymentId),
	}
	defer w.flows.remove(task)
	w.metrics.running.Inc()
	defer w.metrics.running.Dec()
	f.log.Info("Started a flow")

	held, lost := context.WithCancelCause(ctx)
	var keeping sync.WaitGroup
	keeping.Go(func() { f.keepLease(held, lost) })
	err := f.follow(held)
	lost(nil)
	keeping.Wait()
	f.ended(ctx, err)
}

// ended makes known how the flow went, and hands it over where this worker ends
// before it.
func (f *flow) ended(ctx context.Context, err error) {
	result := "ended"
	switch {
	case err == nil:
		f.log.Info("A flow has ended", "status", f.task.Status)
		if f.task.Status == TaskStatusFailed {
			result = "failed"
		}
	case ctx.Err() != nil:
		result = "interrupted"
		f.log.Info("Leaving a flow to the next worker")
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTimeout)
		defer cancel()
		if err := f.server.handOver(ctx, f.id); err != nil {
			f.log.V(1).Info("The next worker has to wait for the lease to run out", "reason", err.Error())
		}
	case isLost(err):
		result = "lost"
		f.log.Info("Stopped a flow that is another worker's", "reason", err.Error())
	default:
		result = "refused"
		f.log.Error(err, "The server does not let a flow go on")
	}
	f.metrics.tasks.WithLabelValues(string(f.task.Kind), result).Inc()
}

// isLost tells whether the task has passed to another worker.
func isLost(err error) bool {
	return errors.Is(err, errLeaseLost) || serverclient.IsRefused(err, codeLeaseLost)
}

// follow makes one move after another. It returns nil when the flow has ended.
func (f *flow) follow(ctx context.Context) error {
	retry, refusals := newBackoff(), 0
	for {
		decided := next(f.task)
		var err error
		switch decided.move {
		case moveAway:
			return nil
		case moveWait:
			err = pauseFor(ctx, f.clock, f.pollPause())
		case moveWork:
			err = f.workOn(ctx, decided.step)
		case moveEnd:
			if err = f.end(ctx, decided.status, decided.message); err == nil {
				return nil
			}
		}
		if err != nil {
			refusals++
			if ctx.Err() != nil || isLost(err) || !isFinal(err) {
				return err
			}
			if refusals > maxRefusals {
				return errors.Join(err, f.end(ctx, TaskStatusFailed, err.Error()))
			}
			if err := pauseFor(ctx, f.clock, retry.Step()); err != nil {
				return err
			}
		}
		if f.task, err = f.server.task(ctx, f.id); err != nil {
			return err
		}
	}
}

// end ends the flow on the server.
func (f *flow) end(ctx context.Context, status TaskStatus, message string) error {
	var text *string
	if message != "" {
		text = &message
	}
	if err := f.server.finishTask(ctx, f.id, status, text); err != nil {
		return err
	}
	f.task.Status = status
	return nil
}

// workOn runs a step from its start to its end. The error is one of the server's,
// or that the flow must stop; the step's own failure is the server's to know.
func (f *flow) workOn(ctx context.Context, step *StepFields) error {
	if err := f.server.startStep(ctx, f.id, step.Id); err != nil {
		return err
	}
	began := f.clock.Now()
	work, err := f.perform(ctx, step)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if isLost(err) {
		return err
	}
	var reason *string
	if err != nil {
		text := err.Error()
		reason = &text
		f.metrics.stepFailures.WithLabelValues(work).Inc()
		f.log.Info("A step has failed", "step", step.Name, "reason", text)
	}
	f.metrics.stepSeconds.WithLabelValues(work).Observe(f.clock.Since(began).Seconds())
	return f.server.finishStep(ctx, f.id, step.Id, reason)
}

// perform does the work of a step and names its sort.
func (f *flow) perform(ctx context.Context, step *StepFields) (string, error) {
	switch f.task.Kind {
	case TaskKindDelete:
		return "delete", f.requestDeletion(ctx)
	case TaskKindRunJob:
		return "job", f.runJob(ctx, step)
	case TaskKindCreate, TaskKindUpdate, TaskKindScale, TaskKindUpdateVersion, TaskKindStartComponents, TaskKindStopComponents:
		if step.Kind == StepKindHook {
			return "hook", f.runHook(ctx, step)
		}
		return "write", f.writeSpec(ctx)
	default:
		return "unknown", fmt.Errorf("this version of the agent does not know tasks of the kind %s", f.task.Kind)
	}
}
