// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"time"
)

// TaskKind is what a task changes.
type TaskKind string

// The kinds of tasks.
const (
	TaskCreate          TaskKind = "CREATE"
	TaskUpdate          TaskKind = "UPDATE"
	TaskScale           TaskKind = "SCALE"
	TaskUpdateVersion   TaskKind = "UPDATE_VERSION"
	TaskDelete          TaskKind = "DELETE"
	TaskStartComponents TaskKind = "START_COMPONENTS"
	TaskStopComponents  TaskKind = "STOP_COMPONENTS"
	TaskRunJob          TaskKind = "RUN_JOB"
)

// TaskStatus is the status of a task's flow.
type TaskStatus string

// The statuses of a flow. Success says that the flow has ended, not that the
// deployment is running.
const (
	TaskPending TaskStatus = "PENDING"
	TaskRunning TaskStatus = "RUNNING"
	TaskSuccess TaskStatus = "SUCCESS"
	TaskFailed  TaskStatus = "FAILED"
)

// TaskResult is the outcome of a task, of the tasks that its hook steps
// started, and of the operator's work for the rollout (R11).
type TaskResult string

// The results of a task.
const (
	ResultRunning    TaskResult = "RUNNING"
	ResultSucceeded  TaskResult = "SUCCEEDED"
	ResultFailed     TaskResult = "FAILED"
	ResultSuperseded TaskResult = "SUPERSEDED"
)

// StepKind tells who moves a step.
type StepKind string

// The kinds of steps.
const (
	// StepFlow is moved by the flow.
	StepFlow StepKind = "FLOW"
	// StepHook is moved by the flow and starts tasks of its own.
	StepHook StepKind = "HOOK"
	// StepOperatorPhase is moved by reports alone (R6).
	StepOperatorPhase StepKind = "OPERATOR_PHASE"
)

// StepStatus is the status of a step, and of each of its attempts.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "PENDING"
	StepRunning   StepStatus = "RUNNING"
	StepSucceeded StepStatus = "SUCCEEDED"
	StepFailed    StepStatus = "FAILED"
	// StepCancelled: pending or running when its task was superseded, or when
	// its flow ended without it.
	StepCancelled StepStatus = "CANCELLED"
)

// Task carries out one change of a deployment.
type Task struct {
	ID           string
	DeploymentID string
	Change       Change
	// InstanceID is the instance that the task rolls out, known from the start;
	// its spec is fixed when its write is recorded (W5). Nil: the kind rolls out
	// nothing.
	InstanceID *string
	// ParentTaskID and HookStepID name the task and its hook step that started
	// this one. Nil: a user's call did.
	ParentTaskID *string
	HookStepID   *string
	Status       TaskStatus
	Message      *string
	// RecordSequence is the place of the task's spec write or deletion request
	// among those of its deployment, from 1. It alone says what is earlier and
	// later (R10). 0: neither is recorded yet.
	RecordSequence int64
	// Superseded: a later write or deletion request was recorded before the
	// task's steps were done (R10). A failure outweighs it in the result.
	Superseded bool
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
	// WorkerID holds the flow until LeaseExpiresAt, and after that until another
	// worker claims the task (W3).
	WorkerID       *string
	LeaseExpiresAt *time.Time
	// ClaimSeconds is the length of the lease by which the worker claimed the task. 0:
	// it is not known.
	ClaimSeconds int
	// HandedOver: the worker is ending and lets the lease run out.
	HandedOver bool
	// LostLeases counts the workers that were lost since a step of the task last
	// ended (W3).
	LostLeases int
	// Steps are in the order in which they run.
	Steps []Step
}

// Kind is what the task changes.
func (t *Task) Kind() TaskKind { return t.Change.Kind }

// FlowEnded tells whether the task's flow has come to its end, good or bad.
func (t *Task) FlowEnded() bool {
	return t.Status == TaskSuccess || t.Status == TaskFailed
}

// IsHookTask tells whether a hook step of another task started the task.
func (t *Task) IsHookTask() bool { return t.ParentTaskID != nil }

// Recorded tells whether the task's spec write or deletion request is recorded.
func (t *Task) Recorded() bool { return t.RecordSequence > 0 }

// Step is a part of a task.
type Step struct {
	ID     string
	Name   string
	Kind   StepKind
	Status StepStatus
	// Hook is what a hook step does. Nil: not a hook step.
	Hook *Change
	// Attempts are the runs of the step, oldest first, numbered from 1.
	Attempts []StepAttempt
}

// StepAttempt is one run of a step.
type StepAttempt struct {
	Number    int
	Status    StepStatus
	StartedAt time.Time
	EndedAt   *time.Time
	Error     *string
}

// StartedAt is when the step first ran. Nil: it never did.
func (s *Step) StartedAt() *time.Time {
	if len(s.Attempts) == 0 {
		return nil
	}
	return &s.Attempts[0].StartedAt
}

// EndedAt is when the newest attempt ended. Nil: it runs, or there is none.
func (s *Step) EndedAt() *time.Time {
	if len(s.Attempts) == 0 {
		return nil
	}
	return s.last().EndedAt
}

// Error is why the newest attempt failed. Nil: it did not.
func (s *Step) Error() *string {
	if len(s.Attempts) == 0 {
		return nil
	}
	return s.last().Error
}

// Unfinished tells whether the step waits or runs.
func (s *Step) Unfinished() bool {
	return s.Status == StepPending || s.Status == StepRunning
}

// last is the newest attempt; the step has one.
func (s *Step) last() *StepAttempt { return &s.Attempts[len(s.Attempts)-1] }

// Instance is a spec of a deployment whose write was recorded.
type Instance struct {
	ID           string
	DeploymentID string
	CreatedAt    time.Time
	Version      *string
	// Spec is the StyrminDeployment's spec without deploymentId and instanceId.
	Spec json.RawMessage
}

// Change is what a task does to the newest written spec (W5). Kind says which
// of the other fields count.
type Change struct {
	Kind TaskKind `json:"kind"`
	// Spec replaces the whole spec: CREATE, UPDATE.
	Spec json.RawMessage `json:"spec,omitempty"`
	// Replicas of the named components: SCALE.
	Replicas []ComponentReplicas `json:"replicas,omitempty"`
	// Version of the application and its chart: UPDATE_VERSION.
	Version string `json:"version,omitempty"`
	// Components to start or stop: START_COMPONENTS, STOP_COMPONENTS.
	Components []string `json:"components,omitempty"`
	// Job to run: RUN_JOB.
	Job string `json:"job,omitempty"`
}

// ComponentReplicas is how many replicas of a component should run.
type ComponentReplicas struct {
	Component string `json:"component"`
	Replicas  int    `json:"replicas"`
}

// writesSpec tells whether tasks of the kind roll out an instance.
func (k TaskKind) writesSpec() bool { return k != TaskDelete && k != TaskRunJob }
