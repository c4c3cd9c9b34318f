// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server holds what the server knows and the rules (R1 to R15) by
// which reports and calls change it: pure functions of the stored state, what
// arrived and the time. It knows no SQL and no HTTP.
package server

import "time"

// ContainerKind tells init containers and sidecars from the application's own.
type ContainerKind string

// The kinds of containers.
const (
	ContainerKindInit    ContainerKind = "INIT"
	ContainerKindSidecar ContainerKind = "SIDECAR"
	ContainerKindApp     ContainerKind = "APP"
)

// ContainerState is the state that the kubelet last wrote.
type ContainerState string

// The states of a container.
const (
	ContainerStateWaiting    ContainerState = "WAITING"
	ContainerStateRunning    ContainerState = "RUNNING"
	ContainerStateTerminated ContainerState = "TERMINATED"
)

// InstanceSource tells where a reported instance id was read.
type InstanceSource string

// The sources of an instance id.
const (
	// InstanceSourceStatus: the operator wrote it when it began on that spec.
	InstanceSourceStatus InstanceSource = "STATUS"
	// InstanceSourceSpec: the operator has written none; phase and display state
	// may belong to an earlier rollout (R4).
	InstanceSourceSpec InstanceSource = "SPEC"
)

// PodStatus is an observed pod. Its identity is (ClusterID, Namespace, Name, UID).
type PodStatus struct {
	ClusterID           string
	DeploymentID        *string
	UID                 string
	Namespace           string
	Name                string
	Node                *string
	Phase               string
	Status              string
	Message             *string
	Ready               bool
	ReadyContainers     int
	TotalContainers     int
	Restarts            int
	CreatedAt           time.Time
	StartedAt           *time.Time
	DeletionRequestedAt *time.Time
	OwnerKind           *string
	OwnerName           *string
	Component           *string
	Containers          []ContainerStatus
	// ChangedAt is when the row last changed, by the server's clock.
	ChangedAt time.Time
}

// ContainerStatus is a container of an observed pod.
type ContainerStatus struct {
	Name           string         `json:"name"`
	Kind           ContainerKind  `json:"kind"`
	Image          *string        `json:"image,omitempty"`
	Ready          bool           `json:"ready"`
	Restarts       int            `json:"restarts"`
	State          ContainerState `json:"state"`
	Reason         *string        `json:"reason,omitempty"`
	Message        *string        `json:"message,omitempty"`
	ExitCode       *int           `json:"exitCode,omitempty"`
	StartedAt      *time.Time     `json:"startedAt,omitempty"`
	FinishedAt     *time.Time     `json:"finishedAt,omitempty"`
	LastReason     *string        `json:"lastReason,omitempty"`
	LastExitCode   *int           `json:"lastExitCode,omitempty"`
	LastFinishedAt *time.Time     `json:"lastFinishedAt,omitempty"`
}

// DeploymentStatus is an observed StyrminDeployment.
type DeploymentStatus struct {
	ClusterID           string
	DeploymentID        string
	UID                 string
	Namespace           string
	Name                string
	InstanceID          string
	InstanceSource      InstanceSource
	Generation          int64
	ObservedGeneration  *int64
	Internal            bool
	TargetNamespace     *string
	Phase               string
	DisplayState        string
	Message             *string
	Conditions          []Condition
	Components          []ComponentStatus
	DeletionRequestedAt *time.Time
	// LastReportAt is when the server received the last complete report that
	// held the object, by its own clock.
	LastReportAt time.Time
}

// Condition is a condition of an observed StyrminDeployment.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             *string   `json:"reason,omitempty"`
	Message            *string   `json:"message,omitempty"`
	ObservedGeneration *int64    `json:"observedGeneration,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// ComponentStatus is a component of an observed StyrminDeployment.
type ComponentStatus struct {
	Name    string `json:"name"`
	Desired int    `json:"desired"`
	Ready   int    `json:"ready"`
	State   string `json:"state"`
}
