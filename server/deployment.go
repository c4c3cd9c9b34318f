// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// DeploymentManager tells who made a deployment.
type DeploymentManager string

// The managers of deployments.
const (
	// DeploymentManagerServer: created through the server's API.
	DeploymentManagerServer DeploymentManager = "SERVER"
	// DeploymentManagerCluster: a StyrminDeployment that was applied straight to
	// the cluster and adopted from a report (R14).
	DeploymentManagerCluster DeploymentManager = "CLUSTER"
)

// DeploymentStatusName is a deployment's status for people and scripts.
type DeploymentStatusName string

// The statuses of a deployment.
const (
	DeploymentPending   DeploymentStatusName = "PENDING"
	DeploymentDeploying DeploymentStatusName = "DEPLOYING"
	DeploymentRunning   DeploymentStatusName = "RUNNING"
	DeploymentFailed    DeploymentStatusName = "FAILED"
	DeploymentDeleting  DeploymentStatusName = "DELETING"
	DeploymentDeleted   DeploymentStatusName = "DELETED"
)

// Deployment is an application of a cluster, declared through the server or
// adopted from the cluster.
type Deployment struct {
	ID          string
	ClusterID   string
	Name        string
	Environment *string
	Internal    bool
	ManagedBy   DeploymentManager
	// TargetNamespace is the namespace that the server declared for the pods. Nil:
	// adopted, the object alone says it.
	TargetNamespace *string
	Version         *string
	Status          DeploymentStatusName
	StatusMessage   *string
	StatusSince     time.Time
	CreatedAt       time.Time
	// LastReportAt is when the server received the last complete report that was
	// about the deployment, by its own clock. Nil: none yet.
	LastReportAt *time.Time
	// WrittenInstanceID is the newest instance whose spec write was recorded.
	// Nil: none was (adopted, or its first task has not come that far).
	WrittenInstanceID *string
	// WrittenAt is when that was recorded. An object that was not reported since
	// is not missing yet (R9).
	WrittenAt *time.Time
	// DeletionRequestedAt is when recordDeletionRequest was called.
	DeletionRequestedAt *time.Time
	// Missing tells that the object was absent from the last complete report
	// though no deletion was requested (R9).
	Missing bool
}
