// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import "time"

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

// TaskStatus is the state of a task's flow alone: TaskSuccess says that it has
// ended, not that the deployment is running.
type TaskStatus string

// The statuses of a task's flow.
const (
	TaskPending TaskStatus = "PENDING"
	TaskRunning TaskStatus = "RUNNING"
	TaskSuccess TaskStatus = "SUCCESS"
	TaskFailed  TaskStatus = "FAILED"
)

// TaskResult covers the task, the tasks that its hook steps started, and the
// operator's work for the rollout.
type TaskResult string

// The results of a task.
const (
	ResultRunning    TaskResult = "RUNNING"
	ResultSucceeded  TaskResult = "SUCCEEDED"
	ResultFailed     TaskResult = "FAILED"
	ResultSuperseded TaskResult = "SUPERSEDED"
)

// Task carries out one change of a deployment.
type Task struct {
	ID           string     `json:"id"`
	DeploymentID string     `json:"deploymentId"`
	Kind         TaskKind   `json:"kind"`
	Status       TaskStatus `json:"status"`
	Result       TaskResult `json:"result"`
	// FailureReason says why the result is neither running nor succeeded.
	FailureReason string `json:"failureReason,omitempty"`
	// Message is the flow's own, where it failed between two steps.
	Message string `json:"message,omitempty"`
	// InstanceID is the instance that the task rolls out, if it does.
	InstanceID string `json:"instanceId,omitempty"`
	// ParentTaskID is the task whose hook step started this one, if one did.
	ParentTaskID string    `json:"parentTaskId,omitempty"`
	CreatedAt    time.Time `json:"createdAt,omitzero"`
	StartedAt    time.Time `json:"startedAt,omitzero"`
	FinishedAt   time.Time `json:"finishedAt,omitzero"`
	// Steps in the order of the work.
	Steps []Step `json:"steps"`
}

// StepKind tells who does the work of a step.
type StepKind string

// The kinds of steps.
const (
	// StepOfFlow: the worker.
	StepOfFlow StepKind = "FLOW"
	// StepOfHook: tasks of its own, which the step starts and waits for.
	StepOfHook StepKind = "HOOK"
	// StepOfOperator: the operator, as the agent reports it.
	StepOfOperator StepKind = "OPERATOR_PHASE"
)

// StepStatus is the state of a step.
type StepStatus string

// The statuses of a step.
const (
	StepPending   StepStatus = "PENDING"
	StepRunning   StepStatus = "RUNNING"
	StepSucceeded StepStatus = "SUCCEEDED"
	StepFailed    StepStatus = "FAILED"
	// StepCancelled: the task was superseded, or its flow ended without the step.
	StepCancelled StepStatus = "CANCELLED"
)

// Step is a part of a task.
type Step struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Kind      StepKind   `json:"kind"`
	Status    StepStatus `json:"status"`
	StartedAt time.Time  `json:"startedAt,omitzero"`
	EndedAt   time.Time  `json:"endedAt,omitzero"`
	// Error is why the newest attempt failed. For the operator's steps it names
	// the pods that are at fault.
	Error string `json:"error,omitempty"`
	// Attempts are the step's runs, oldest first.
	Attempts []Attempt `json:"attempts"`
	// Notice says that the agent is silent while the step runs.
	Notice string `json:"notice,omitempty"`
	// Tasks are those that a hook step started. Theirs start none.
	Tasks []Task `json:"tasks,omitempty"`
}

// Attempt is one run of a step.
type Attempt struct {
	// Number counts from 1.
	Number    int        `json:"number"`
	Status    StepStatus `json:"status"`
	StartedAt time.Time  `json:"startedAt,omitzero"`
	EndedAt   time.Time  `json:"endedAt,omitzero"`
	Error     string     `json:"error,omitempty"`
}
