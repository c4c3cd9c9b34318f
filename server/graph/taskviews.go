// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// taskReader is what the fields of tasks are answered from: the tasks around
// them, and the moment at which they are read.
type taskReader struct {
	family store.TaskFamily
	now    time.Time
	// reportTimeout is the age of the last report from which a notice tells (R12).
	reportTimeout time.Duration
}

func (r *Resolver) reader(family store.TaskFamily) *taskReader {
	return &taskReader{family: family, now: r.Now(), reportTimeout: r.ReportTimeout}
}

// task returns a task of the family as the contract shows it.
func (r *taskReader) task(id string) *Task {
	return &Task{Task: r.family.Tasks.Find(id), reader: r}
}

// Task is a task as the contract shows it.
type Task struct {
	*server.Task

	reader *taskReader
}

// Result is that of the task, its steps and its hook tasks (R11).
func (t *Task) Result() server.TaskResult { return t.reader.family.Tasks.Result(t.ID) }

// FailureReason says why the result is not SUCCEEDED.
func (t *Task) FailureReason() *string { return t.reader.family.Tasks.FailureReason(t.ID) }

// Steps are in the order in which they run.
func (t *Task) Steps() []Step {
	steps := make([]Step, len(t.Task.Steps))
	for i := range t.Task.Steps {
		steps[i] = Step{Step: &t.Task.Steps[i], reader: t.reader}
	}
	return steps
}

// Step is a step as the contract shows it.
type Step struct {
	*server.Step

	reader *taskReader
}

// Notice tells that reports stay out, or nothing (R12).
func (s *Step) Notice() *string {
	return server.Notice(s.Step, s.reader.family.Deployment.LastReportAt, s.reader.now, s.reader.reportTimeout)
}

// Tasks are those that the hook step started.
func (s *Step) Tasks() []Task {
	var tasks []Task
	for i := range s.reader.family.Tasks {
		task := &s.reader.family.Tasks[i]
		if task.HookStepID != nil && *task.HookStepID == s.ID {
			tasks = append(tasks, Task{Task: task, reader: s.reader})
		}
	}
	return tasks
}

// step returns a step of the task.
func (t *Task) step(id string) *Step {
	for i := range t.Task.Steps {
		if t.Task.Steps[i].ID == id {
			return &Step{Step: &t.Task.Steps[i], reader: t.reader}
		}
	}
	return nil
}
