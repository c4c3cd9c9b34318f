// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"encoding/json"
	"time"
)

// Times are in UTC; the zero time is what never happened. Text that the server
// has none for is empty.

// DeploymentStatus is the one word for a deployment.
type DeploymentStatus string

// The statuses of a deployment.
const (
	// StatusPending: declared, nothing was written to the cluster yet.
	StatusPending DeploymentStatus = "PENDING"
	// StatusDeploying: a change is on its way.
	StatusDeploying DeploymentStatus = "DEPLOYING"
	// StatusRunning: what runs is what was last asked for.
	StatusRunning DeploymentStatus = "RUNNING"
	// StatusFailed: it does not run as it should; StatusMessage says why.
	StatusFailed DeploymentStatus = "FAILED"
	// StatusDeleting: it is being removed.
	StatusDeleting DeploymentStatus = "DELETING"
	// StatusDeleted: nothing of it is left in the cluster.
	StatusDeleted DeploymentStatus = "DELETED"
)

// Manager tells who made a deployment.
type Manager string

// The managers of deployments.
const (
	// ManagedByServer: created through the server, which changes it, too.
	ManagedByServer Manager = "SERVER"
	// ManagedByCluster: a StyrminDeployment that was applied straight to the
	// cluster. It is changed there, not through the server.
	ManagedByCluster Manager = "CLUSTER"
)

// Deployment is an application in a cluster.
type Deployment struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	ClusterID   string `json:"clusterId"`
	Environment string `json:"environment,omitempty"`
	// Internal marks a deployment of the platform itself.
	Internal      bool             `json:"internal"`
	ManagedBy     Manager          `json:"managedBy"`
	Version       string           `json:"version,omitempty"`
	Status        DeploymentStatus `json:"status"`
	StatusMessage string           `json:"statusMessage,omitempty"`
	StatusSince   time.Time        `json:"statusSince,omitzero"`
	// LastReportAt is when the server last heard of it, by the server's clock.
	LastReportAt time.Time `json:"lastReportAt,omitzero"`
	// Instance is what should run. Nil: nothing was written yet, or it was not
	// written through the server.
	Instance *Instance `json:"instance,omitempty"`
	// Observed is what does run, as last reported. Nil: nothing was reported.
	Observed *Observed `json:"observed,omitempty"`
}

// Instance is one declared state of a deployment; each change makes a new one.
type Instance struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
	Version   string    `json:"version,omitempty"`
	// Spec is the StyrminDeployment's spec without deploymentId and instanceId.
	// Lists of deployments leave it out.
	Spec json.RawMessage `json:"spec,omitempty"`
}

// Observed is what the agent last reported of a deployment.
type Observed struct {
	// InstanceID is the instance that the operator last worked on.
	InstanceID string `json:"instanceId"`
	// Namespace and Name are the StyrminDeployment's.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// TargetNamespace holds the deployment's pods.
	TargetNamespace string `json:"targetNamespace,omitempty"`
	// Phase is how far the operator has come, as CreatingHelmRelease or Ready.
	Phase string `json:"phase"`
	// DisplayState is the operator's one word for people: Running, Error, Deploying.
	DisplayState        string      `json:"displayState"`
	Message             string      `json:"message,omitempty"`
	Conditions          []Condition `json:"conditions"`
	Components          []Component `json:"components"`
	DeletionRequestedAt time.Time   `json:"deletionRequestedAt,omitzero"`
	LastReportAt        time.Time   `json:"lastReportAt,omitzero"`
}

// Condition is a condition of the StyrminDeployment.
type Condition struct {
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status             string    `json:"status"`
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime,omitzero"`
}

// Component is a part of a deployment as observed.
type Component struct {
	Name    string `json:"name"`
	Desired int    `json:"desired"`
	Ready   int    `json:"ready"`
	// State is Running, Stopped, Progressing or Error.
	State string `json:"state"`
}

// DeploymentFilter picks deployments; what is empty does not count, but that
// without a Status none is picked that was deleted.
type DeploymentFilter struct {
	ClusterID   string           `json:"clusterId,omitempty"`
	Environment string           `json:"environment,omitempty"`
	Name        string           `json:"name,omitempty"`
	Status      DeploymentStatus `json:"status,omitempty"`
}

// NewDeployment is a deployment to create. Its name is unique in the cluster and
// environment until it is deleted.
type NewDeployment struct {
	Name        string
	ClusterID   string
	Environment string
	Internal    bool
	// Spec is the StyrminDeployment's spec without deploymentId and instanceId:
	// whatever encodes to it as JSON.
	Spec any
}

type createDeploymentInput struct {
	Name        string          `json:"name"`
	ClusterID   string          `json:"clusterId"`
	Environment string          `json:"environment"`
	Internal    bool            `json:"internal"`
	Spec        json.RawMessage `json:"spec"`
}

type componentReplicasInput struct {
	Component string `json:"component"`
	Replicas  int    `json:"replicas"`
}
