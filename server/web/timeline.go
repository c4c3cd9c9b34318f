// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/styrmin/styrmin/server"
)

// taskView is a task with its steps.
type taskView struct {
	ID, Title string
	Result    server.TaskResult
	Tone      tone
	Status    server.TaskStatus
	Reason    string
	Created   moment
	Started   *moment
	Length    string
	Running   *moment
	Instance  string
	Parent    string
	Steps     []stepView
}

// Word is the result for people: a task that no worker has begun waits.
func (t taskView) Word() string { return wordOf(t.Result, t.Status) }

func wordOf(result server.TaskResult, status server.TaskStatus) string {
	if result == server.ResultRunning && status == server.TaskPending {
		return "WAITING"
	}
	return string(result)
}

// stepView is a step of the timeline.
type stepView struct {
	ID, Name string
	Status   server.StepStatus
	Tone     tone
	// By tells who moves the step.
	By      string
	Started *moment
	Length  string
	Running *moment
	Error   string
	Notice  string
	// Attempts are those before the newest one, where there are any: newest first.
	Attempts []attemptView
	// Count is the number of the newest attempt.
	Count int
	// Tasks are those that a hook step started.
	Tasks []taskView
}

type attemptView struct {
	Number  int
	Status  server.StepStatus
	Tone    tone
	Started moment
	Length  string
	Error   string
}

// teller tells about the tasks of a deployment.
type teller struct {
	clock   clock
	timeout time.Duration
	of      *server.Deployment
	tasks   server.Tasks
}

// taskHead is what one must know of a task first.
type taskHead struct {
	Task                     taskView
	Deployment, DeploymentID string
	Status                   server.DeploymentStatusName
	StatusTone               tone
	// ParentTitle is that of the task whose hook started it.
	ParentTitle string
	Reported    *moment
	Silent      bool
}

func (h *handler) task(r *http.Request, _ server.Token) (*answer, error) {
	deployment, tasks, err := h.Store.TaskView(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	teller := teller{clock: clock{h.Now()}, timeout: h.ReportTimeout, of: &deployment, tasks: tasks}
	task := tasks.Find(r.PathValue("id"))
	head := taskHead{
		Task: teller.task(task), Deployment: deployment.Name, DeploymentID: deployment.ID,
		Status: deployment.Status, StatusTone: toneOfDeployment(deployment.Status),
		Reported: teller.clock.optional(deployment.LastReportAt), Silent: isSilent(&deployment, teller.clock, h.ReportTimeout),
	}
	if task.ParentTaskID != nil {
		if parent := tasks.Find(*task.ParentTaskID); parent != nil {
			head.ParentTitle = titleOf(parent.Change)
		}
	}
	return &answer{page: "task", title: deployment.Name + ": " + head.Task.Title + ", " + head.Task.Word(), content: head.Task, live: head}, nil
}

func (t teller) task(task *server.Task) taskView {
	view := taskView{
		ID: task.ID, Title: titleOf(task.Change), Status: task.Status, Result: t.tasks.Result(task.ID),
		Reason: deref(t.tasks.FailureReason(task.ID)), Created: t.clock.moment(task.CreatedAt),
		Started: t.clock.optional(task.StartedAt), Instance: deref(task.InstanceID), Parent: deref(task.ParentTaskID),
	}
	view.Tone = toneOfTask(view.Result, view.Status)
	view.Length, view.Running = t.length(task, view.Result)
	for i := range task.Steps {
		view.Steps = append(view.Steps, t.step(&task.Steps[i]))
	}
	return view
}

func (t teller) line(task *server.Task) taskLine {
	result := t.tasks.Result(task.ID)
	line := taskLine{
		ID: task.ID, Title: titleOf(task.Change), Result: wordOf(result, task.Status), Tone: toneOfTask(result, task.Status),
		Reason: clip(deref(t.tasks.FailureReason(task.ID)), maxRowMessage), Created: t.clock.moment(task.CreatedAt),
	}
	line.Length, line.Running = t.length(task, result)
	return line
}

func toneOfTask(result server.TaskResult, status server.TaskStatus) tone {
	if result == server.ResultRunning && status == server.TaskPending {
		return toneWait
	}
	return toneOfResult(result)
}

// length is how long a task took until all of its steps were over, or since when
// it is at work.
func (t teller) length(task *server.Task, result server.TaskResult) (string, *moment) {
	if task.StartedAt == nil {
		return "", nil
	}
	if result == server.ResultRunning {
		return "", t.clock.optional(task.StartedAt)
	}
	end := *task.StartedAt
	if task.FinishedAt != nil {
		end = *task.FinishedAt
	}
	for i := range task.Steps {
		if ended := task.Steps[i].EndedAt(); ended != nil && ended.After(end) {
			end = *ended
		}
	}
	return fine(end.Sub(*task.StartedAt)), nil
}

// movers tell who moves the steps of a kind.
var movers = map[server.StepKind]string{
	server.StepFlow: "flow", server.StepHook: "hook", server.StepOperatorPhase: "operator",
}

func (t teller) step(step *server.Step) stepView {
	view := stepView{
		ID: step.ID, Name: step.Name, Status: step.Status, Tone: toneOfStep(step.Status), By: movers[step.Kind],
		Started: t.clock.optional(step.StartedAt()), Error: deref(step.Error()), Count: len(step.Attempts),
		Notice: deref(server.Notice(step, t.of.LastReportAt, t.clock.now, t.timeout)),
	}
	for i := len(step.Attempts) - 1; i >= 0; i-- {
		attempt := t.attempt(&step.Attempts[i])
		if i == len(step.Attempts)-1 {
			view.Length = attempt.Length
			if attempt.Status == server.StepRunning {
				running := attempt.Started
				view.Running = &running
			}
			continue
		}
		view.Attempts = append(view.Attempts, attempt)
	}
	for i := range t.tasks {
		if hook := t.tasks[i].HookStepID; hook != nil && *hook == step.ID {
			view.Tasks = append(view.Tasks, t.task(&t.tasks[i]))
		}
	}
	return view
}

func (t teller) attempt(attempt *server.StepAttempt) attemptView {
	view := attemptView{
		Number: attempt.Number, Status: attempt.Status, Tone: toneOfStep(attempt.Status),
		Started: t.clock.moment(attempt.StartedAt), Error: deref(attempt.Error),
	}
	if attempt.EndedAt != nil {
		view.Length = fine(attempt.EndedAt.Sub(attempt.StartedAt))
	}
	return view
}

// titleOf says in a few words what a task does.
func titleOf(change server.Change) string {
	names := strings.Join(change.Components, ", ")
	switch change.Kind {
	case server.TaskCreate:
		return "Create"
	case server.TaskUpdate:
		return "Update"
	case server.TaskScale:
		parts := make([]string, len(change.Replicas))
		for i, replicas := range change.Replicas {
			parts[i] = fmt.Sprintf("%s to %d", replicas.Component, replicas.Replicas)
		}
		return "Scale " + strings.Join(parts, ", ")
	case server.TaskUpdateVersion:
		return "Upgrade to " + change.Version
	case server.TaskDelete:
		return "Delete"
	case server.TaskStartComponents:
		return "Start " + names
	case server.TaskStopComponents:
		return "Stop " + names
	case server.TaskRunJob:
		return "Run job " + change.Job
	}
	return string(change.Kind)
}
