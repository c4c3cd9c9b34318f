// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// defaultHelmTimeout is Flux's own default of spec.helmRelease.timeout.
const defaultHelmTimeout = 5 * time.Minute

// scope is what one reconcile of one StyrminDeployment works on. It lives as
// long as the reconcile and belongs to its goroutine.
type scope struct {
	// deployment is as it was read; it is never changed.
	deployment *styrminv1.StyrminDeployment
	// status is what the object's status says: as read, then as last written.
	status styrminv1.StyrminDeploymentStatus
	// resourceVersion is the object's newest known one; every write of the
	// object carries it (O8).
	resourceVersion string
	// id and namespace are the deployment's id and its target namespace.
	id, namespace string
	// now is the time of this reconcile: all its decisions see the same one.
	now time.Time
}

func newScope(d *styrminv1.StyrminDeployment, now time.Time) *scope {
	return &scope{
		deployment:      d,
		status:          *d.Status.DeepCopy(),
		resourceVersion: d.ResourceVersion,
		id:              d.DeploymentID(),
		namespace:       d.TargetNamespace(),
		now:             now,
	}
}

// owner is the StyrminDeployment's name as the owner annotation has it.
func (s *scope) owner() string {
	return s.deployment.Namespace + "/" + s.deployment.Name
}

// rollout names this very rollout: a new instance or a new generation is
// another one (O1).
func (s *scope) rollout() string {
	return fmt.Sprintf("%s/%d", s.deployment.InstanceID(), s.deployment.Generation)
}

// helmTimeout is how long one try of Flux may take.
func (s *scope) helmTimeout() time.Duration {
	if t := s.deployment.Spec.HelmRelease.Timeout; t != nil {
		return t.Duration
	}
	return defaultHelmTimeout
}

// condition returns a condition of the status as it stands, or nil.
func (s *scope) condition(conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(s.status.Conditions, conditionType)
}

// since returns the time of a condition's last transition, zero without one.
func (s *scope) since(conditionType string) time.Time {
	if c := s.condition(conditionType); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

// isTrue tells whether a condition of the status as it stands is True.
func (s *scope) isTrue(conditionType string) bool {
	return apimeta.IsStatusConditionTrue(s.status.Conditions, conditionType)
}

// isDecided tells whether a condition of the status as it stands is True or False.
func (s *scope) isDecided(conditionType string) bool {
	c := s.condition(conditionType)
	return c != nil && c.Status != metav1.ConditionUnknown
}
