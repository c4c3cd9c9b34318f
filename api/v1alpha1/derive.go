// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "fmt"

// DeploymentID returns the id that this deployment has on the server: the
// spec's, or the object's UID where it was applied by hand.
func (d *StyrminDeployment) DeploymentID() string {
	if d.Spec.DeploymentID != "" {
		return d.Spec.DeploymentID
	}
	return string(d.UID)
}

// InstanceID returns the id of the rollout that the spec asks for: the spec's,
// or <name>-<generation> where it has none.
func (d *StyrminDeployment) InstanceID() string {
	if d.Spec.InstanceID != "" {
		return d.Spec.InstanceID
	}
	return fmt.Sprintf("%s-%d", d.Name, d.Generation)
}

// TargetNamespace returns the namespace that holds everything that runs for
// the deployment.
func (d *StyrminDeployment) TargetNamespace() string {
	if d.Spec.TargetNamespace != "" {
		return d.Spec.TargetNamespace
	}
	return d.Spec.Environment + "-" + d.Name
}

// IsRunning tells whether the component is declared to run.
func (c *ComponentSpec) IsRunning() bool {
	return c.Running == nil || *c.Running
}

// DesiredReplicas returns the replicas that should run now: 0 where the
// component is stopped.
func (c *ComponentSpec) DesiredReplicas() int32 {
	if !c.IsRunning() {
		return 0
	}
	return c.Replicas
}
