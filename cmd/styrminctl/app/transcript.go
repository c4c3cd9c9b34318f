// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/styrmin/styrmin/sdk"
)

// transcript tells a change line by line, each when it happens, for logs.
type transcript struct {
	say  func(format string, args ...any)
	name string

	last snapshot
	// pods are the problems that were told.
	pods []string
}

func (t *transcript) tick()  {}
func (t *transcript) close() {}

func (t *transcript) update(found snapshot) {
	if found.Err != nil {
		if t.last.Err == nil {
			t.say("deployment/%s: trying again: %s", t.name, oneLine(found.Err.Error()))
		}
		t.last.Err = found.Err
		return
	}
	if before := t.last.Deployment; found.Deployment != nil && (before == nil || before.Status != found.Deployment.Status) {
		t.say("deployment/%s: %s", t.name, found.Deployment.Status)
	}
	var before []sdk.Step
	if t.last.Task != nil {
		before = t.last.Task.Steps
	}
	for _, change := range changes(before, found.Task.Steps, "") {
		t.say("deployment/%s: %s", t.name, change)
	}
	problems := podProblems(found.pods)
	for _, problem := range problems {
		if !slices.Contains(t.pods, problem) {
			t.say("deployment/%s: %s", t.name, problem)
		}
	}
	t.last, t.pods = found, problems
}

// changes are what has happened to steps between two looks, in their order.
func changes(before, after []sdk.Step, prefix string) []string {
	var told []string
	for i := range after {
		step, was := &after[i], sdk.Step{Status: sdk.StepPending}
		if i < len(before) {
			was = before[i]
		}
		name := prefix + step.Name
		told = append(told, hookChanges(was.Tasks, step.Tasks, name+" > ")...)
		if step.Status != was.Status || len(step.Attempts) > max(1, len(was.Attempts)) || step.Error != was.Error {
			told = append(told, name+": "+outcome(step))
		}
		if step.Notice != "" && step.Notice != was.Notice {
			told = append(told, name+": "+oneLine(step.Notice))
		}
	}
	return told
}

func hookChanges(before, after []sdk.Task, prefix string) []string {
	told := make([]string, 0, len(after))
	for i := range after {
		var was []sdk.Step
		if i < len(before) {
			was = before[i].Steps
		}
		told = append(told, changes(was, after[i].Steps, prefix)...)
	}
	return told
}

// outcome is the state of a step in words.
func outcome(step *sdk.Step) string {
	text := ""
	switch step.Status {
	case sdk.StepRunning:
		text = "running"
	case sdk.StepSucceeded:
		text = "succeeded"
	case sdk.StepFailed:
		text = "failed"
	case sdk.StepCancelled:
		return "cancelled"
	default:
		return "waiting"
	}
	if step.Status != sdk.StepRunning && !step.StartedAt.IsZero() && !step.EndedAt.IsZero() {
		text += " after " + duration.HumanDuration(max(0, step.EndedAt.Sub(step.StartedAt)))
	}
	if n := len(step.Attempts); n > 1 {
		text += fmt.Sprintf(" (attempt %d)", n)
	}
	if step.Error != "" {
		text += ": " + oneLine(step.Error)
	}
	return text
}
