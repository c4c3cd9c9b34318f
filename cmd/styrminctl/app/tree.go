// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/styrmin/styrmin/sdk"
)

// tree draws the steps of a task, one below the other, with what is known of
// each.
type tree struct {
	palette
	// now is the time by the server's clock.
	now time.Time
	// width is where lines are cut; 0: nowhere.
	width int
	// whole shows the steps of hook tasks that have succeeded, too, and every
	// attempt; otherwise only what still matters.
	whole bool
	// frame is the state of what turns while a step runs; empty: nothing turns.
	frame string
}

// line is one line of a tree: a text with a colour.
type line struct {
	text  string
	paint func(string) string
}

// minNameWidth keeps short names in a column with the usual ones.
const minNameWidth = 36

// lines are the tree of a task. The pods stand below the step that waits for
// them.
func (t tree) lines(task *sdk.Task, pods []sdk.Pod) []string {
	width := minNameWidth
	t.walk(task.Steps, 0, func(step *sdk.Step, depth int) {
		width = max(width, len([]rune(step.Name))+2*depth)
	})
	var drawn []string
	add := func(l line) {
		text := l.text
		if t.width > 0 {
			text = cut(text, t.width)
		}
		if l.paint != nil {
			text = l.paint(text)
		}
		drawn = append(drawn, text)
	}
	waiting := runningOperatorStep(task)
	t.walk(task.Steps, 0, func(step *sdk.Step, depth int) {
		indent := strings.Repeat("  ", depth+1)
		add(t.stepLine(step, indent, width-2*depth))
		for _, detail := range t.details(step) {
			detail.text = indent + "    " + detail.text
			add(detail)
		}
		if step.ID == waiting {
			for _, problem := range podProblems(pods) {
				add(line{indent + "    " + problem, t.yellow})
			}
		}
	})
	return drawn
}

// walk visits the steps and, below hook steps, those of the tasks that they
// started.
func (t tree) walk(steps []sdk.Step, depth int, visit func(step *sdk.Step, depth int)) {
	for i := range steps {
		step := &steps[i]
		visit(step, depth)
		if step.Status == sdk.StepSucceeded && !t.whole {
			continue
		}
		for j := range step.Tasks {
			t.walk(step.Tasks[j].Steps, depth+1, visit)
		}
	}
}

func (t tree) stepLine(step *sdk.Step, indent string, width int) line {
	mark, paint := t.mark(step.Status)
	text := fmt.Sprintf("%s%s %-*s  %s", indent, mark, width, oneLine(step.Name), t.took(step.StartedAt, step.EndedAt, step.Status))
	if n := len(step.Attempts); n > 1 {
		text += fmt.Sprintf("  attempt %d", n)
	}
	return line{strings.TrimRight(text, " "), paint}
}

func (t tree) mark(status sdk.StepStatus) (mark string, paint func(string) string) {
	switch status {
	case sdk.StepSucceeded:
		return "✔", t.green
	case sdk.StepFailed:
		return "✘", t.red
	case sdk.StepRunning:
		if t.frame != "" {
			return t.frame, t.cyan
		}
		return "▸", t.cyan
	case sdk.StepCancelled:
		return "-", t.dim
	}
	return "·", t.dim
}

// took is how long a step took, or has taken so far.
func (t tree) took(from, to time.Time, status sdk.StepStatus) string {
	switch {
	case from.IsZero():
		return ""
	case status == sdk.StepRunning:
		to = t.now
	case to.IsZero():
		return ""
	}
	return duration.HumanDuration(max(0, to.Sub(from)))
}

// details are what stands below a step: why it failed, why earlier attempts did,
// and that the agent is silent.
func (t tree) details(step *sdk.Step) []line {
	var details []line
	if t.whole {
		for _, attempt := range step.Attempts {
			if attempt.Error != "" && attempt.Number < len(step.Attempts) {
				took := t.took(attempt.StartedAt, attempt.EndedAt, attempt.Status)
				details = append(details, line{fmt.Sprintf("attempt %d failed after %s: %s", attempt.Number, took, oneLine(attempt.Error)), t.dim})
			}
		}
	}
	if step.Error != "" {
		for part := range strings.SplitSeq(step.Error, "; ") {
			details = append(details, line{oneLine(part), t.red})
		}
	}
	if step.Notice != "" {
		details = append(details, line{oneLine(step.Notice), t.yellow})
	}
	return details
}

// runningOperatorStep is the id of the step that the operator works on, hook
// tasks included, or empty.
func runningOperatorStep(task *sdk.Task) string {
	var id string
	tree{}.walk(task.Steps, 0, func(step *sdk.Step, _ int) {
		if step.Kind == sdk.StepOfOperator && step.Status == sdk.StepRunning {
			id = step.ID
		}
	})
	return id
}

// problems are the reasons for which a step's error names a container.
var problems = []string{
	"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CrashLoopBackOff",
	"CreateContainerConfigError", "CreateContainerError", "Error", "OOMKilled",
}

// maxPods is how many pods are named at once, as many as a step's error has.
const maxPods = 5

// podProblems names pods with a container that has a problem, in the words of a
// step's error.
func podProblems(pods []sdk.Pod) []string {
	var lines []string
	for i := range pods {
		for _, container := range pods[i].Containers {
			if len(lines) == maxPods {
				return lines
			}
			if container.State == "RUNNING" || !slices.Contains(problems, container.Reason) {
				continue
			}
			text := fmt.Sprintf("pod %s: container %s %s", pods[i].Name, container.Name, container.Reason)
			if container.Message != "" {
				text += fmt.Sprintf(" (%s)", container.Message)
			}
			lines = append(lines, oneLine(text))
			break
		}
	}
	return lines
}
