// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

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

// PodSelector returns the component's selector, or why it is none.
func (c *ComponentSpec) PodSelector() (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(&c.Selector)
	if err != nil {
		return nil, fmt.Errorf("the selector of component %s: %w", c.Name, err)
	}
	return selector, nil
}

// JobTemplate returns the Job's spec, or why the template is none.
func (j *JobSpec) JobTemplate() (*batchv1.JobSpec, error) {
	template := &batchv1.JobSpec{}
	if err := json.Unmarshal(j.Template.Raw, template); err != nil {
		return nil, fmt.Errorf("the template of job %s is not a Job's spec: %w", j.Name, err)
	}
	return template, nil
}
