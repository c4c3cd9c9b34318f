// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

type instanceRow struct {
	bun.BaseModel `bun:"table:instances,alias:i"`

	server.Instance
}

type taskRow struct {
	bun.BaseModel `bun:"table:tasks,alias:t"`

	ID             string `bun:",pk"`
	DeploymentID   string
	Position       int64
	Kind           server.TaskKind
	Change         json.RawMessage
	InstanceID     *string
	ParentTaskID   *string
	HookStepID     *string
	Status         server.TaskStatus
	Result         server.TaskResult
	Message        *string
	RecordSequence int64
	Superseded     bool
	Unsettled      bool
	CreatedAt      time.Time
	StartedAt      *time.Time
	FinishedAt     *time.Time
	WorkerID       *string
	LeaseExpiresAt *time.Time
	ClaimSeconds   int
	HandedOver     bool
	LostLeases     int
}

type stepRow struct {
	bun.BaseModel `bun:"table:steps,alias:s"`

	ID       string `bun:",pk"`
	TaskID   string
	Position int
	Name     string
	Kind     server.StepKind
	Status   server.StepStatus
	Hook     json.RawMessage
}

type attemptRow struct {
	bun.BaseModel `bun:"table:attempts,alias:a"`

	StepID string `bun:",pk"`
	Number int    `bun:",pk"`

	Status    server.StepStatus
	StartedAt time.Time
	EndedAt   *time.Time
	Error     *string
}

func rowOfTask(task *server.Task, result server.TaskResult) (*taskRow, error) {
	change, err := json.Marshal(task.Change)
	if err != nil {
		return nil, fmt.Errorf("encoding the change of task %s: %w", task.ID, err)
	}
	return &taskRow{
		ID: task.ID, DeploymentID: task.DeploymentID, Kind: task.Kind(), Change: change,
		InstanceID: task.InstanceID, ParentTaskID: task.ParentTaskID, HookStepID: task.HookStepID,
		Status: task.Status, Result: result, Message: task.Message, RecordSequence: task.RecordSequence, Superseded: task.Superseded,
		Unsettled: isUnsettled(task),
		CreatedAt: task.CreatedAt, StartedAt: task.StartedAt, FinishedAt: task.FinishedAt,
		WorkerID: task.WorkerID, LeaseExpiresAt: task.LeaseExpiresAt, ClaimSeconds: task.ClaimSeconds,
		HandedOver: task.HandedOver, LostLeases: task.LostLeases,
	}, nil
}

// isUnsettled tells whether reports and calls can still change the task.
func isUnsettled(task *server.Task) bool {
	unsettled := !task.FlowEnded()
	for i := range task.Steps {
		unsettled = unsettled || task.Steps[i].Unfinished()
	}
	return unsettled
}

func (r *taskRow) task() (server.Task, error) {
	task := server.Task{
		ID: r.ID, DeploymentID: r.DeploymentID,
		InstanceID: r.InstanceID, ParentTaskID: r.ParentTaskID, HookStepID: r.HookStepID,
		Status: r.Status, Message: r.Message, RecordSequence: r.RecordSequence, Superseded: r.Superseded,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
		WorkerID: r.WorkerID, LeaseExpiresAt: r.LeaseExpiresAt, ClaimSeconds: r.ClaimSeconds,
		HandedOver: r.HandedOver, LostLeases: r.LostLeases,
	}
	if err := json.Unmarshal(r.Change, &task.Change); err != nil {
		return task, fmt.Errorf("decoding the change of task %s: %w", r.ID, err)
	}
	return task, nil
}

func rowOfStep(taskID string, position int, step *server.Step) (*stepRow, error) {
	row := &stepRow{
		ID: step.ID, TaskID: taskID, Position: position, Name: step.Name, Kind: step.Kind, Status: step.Status,
	}
	if step.Hook != nil {
		var err error
		if row.Hook, err = json.Marshal(step.Hook); err != nil {
			return nil, fmt.Errorf("encoding the hook of step %s: %w", step.ID, err)
		}
	}
	return row, nil
}

func (r *stepRow) step() (server.Step, error) {
	step := server.Step{ID: r.ID, Name: r.Name, Kind: r.Kind, Status: r.Status}
	if r.Hook != nil {
		if err := json.Unmarshal(r.Hook, &step.Hook); err != nil {
			return step, fmt.Errorf("decoding the hook of step %s: %w", r.ID, err)
		}
	}
	return step, nil
}

func rowOfAttempt(stepID string, attempt *server.StepAttempt) *attemptRow {
	return &attemptRow{
		StepID: stepID, Number: attempt.Number, Status: attempt.Status,
		StartedAt: attempt.StartedAt, EndedAt: attempt.EndedAt, Error: attempt.Error,
	}
}

func (r *attemptRow) attempt() server.StepAttempt {
	return server.StepAttempt{
		Number: r.Number, Status: r.Status, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Error: r.Error,
	}
}
