// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"regexp"
	"time"
)

// ObjectNamespace holds the StyrminDeployments that flows write.
const ObjectNamespace = "styrmin"

// Bounds of the StyrminDeployment's own schema.
const (
	// maxObjectName bounds <environment>-<name>, which also names the namespace of
	// the deployment's pods where the spec names none.
	maxObjectName  = 63
	maxEnvironment = 30
)

// dnsLabel is what names of Kubernetes objects are made of.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// NewDeployment is a deployment that a user declares.
type NewDeployment struct {
	Name        string
	ClusterID   string
	Environment string
	Internal    bool
	// Spec is the StyrminDeployment's spec without deploymentId and instanceId.
	Spec json.RawMessage
}

// ObjectName is the name of the deployment's StyrminDeployment.
func (n NewDeployment) ObjectName() string { return n.Environment + "-" + n.Name }

// Validate refuses names that Kubernetes would refuse, naming the field.
func (n NewDeployment) Validate() error {
	const want = "must be lower case letters, digits and hyphens"
	if !dnsLabel.MatchString(n.Name) {
		return InvalidInput("input.name", want)
	}
	if !dnsLabel.MatchString(n.Environment) {
		return InvalidInput("input.environment", want)
	}
	if len(n.Environment) > maxEnvironment {
		return InvalidInput("input.environment", "must have at most %d characters", maxEnvironment)
	}
	if len(n.ObjectName()) > maxObjectName {
		return InvalidInput("input.name", "<environment>-<name> must have at most %d characters, %s has %d",
			maxObjectName, n.ObjectName(), len(n.ObjectName()))
	}
	return nil
}

// Deployment is what is stored of it. It is PENDING until its first write is
// recorded.
func (n NewDeployment) Deployment(id string, now time.Time) Deployment {
	return Deployment{
		ID: id, ClusterID: n.ClusterID, Name: n.Name, Environment: &n.Environment, Internal: n.Internal,
		ManagedBy: DeploymentManagerServer, Status: DeploymentPending, StatusSince: now, CreatedAt: now,
	}
}

// objectName is the name of the StyrminDeployment that the server writes for a
// deployment of its own.
func (d *Deployment) objectName() string { return optionalText(d.Environment) + "-" + d.Name }

// Object returns namespace and name of the deployment's StyrminDeployment: by
// which the server writes it, or which the cluster has where it was adopted.
func (s *State) Object() (namespace, name string) {
	switch {
	case s.Deployment.Environment != nil:
		return ObjectNamespace, s.Deployment.objectName()
	case s.Observed != nil:
		return s.Observed.Namespace, s.Observed.Name
	}
	return ObjectNamespace, s.Deployment.Name
}
