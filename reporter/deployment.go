// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// notObserved is the phase and display state of a StyrminDeployment that the
// operator has not touched; it moves nothing on the server.
const notObserved = "Pending"

// deploymentRows returns what the server is told about the deployments, sorted
// by namespace and name. One that cannot be a row, since no API server serves
// such a name, namespace or UID, is passed over (P6).
func deploymentRows(deployments []*styrminv1.StyrminDeployment) []DeploymentStatusInput {
	rows := make([]DeploymentStatusInput, 0, len(deployments))
	for _, deployment := range deployments {
		if isIdentity(string(deployment.UID)) && isIdentity(deployment.Name) && isIdentity(deployment.Namespace) {
			rows = append(rows, deploymentRow(deployment))
		}
	}
	slices.SortFunc(rows, func(a, b DeploymentStatusInput) int {
		return cmp.Or(
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name),
			strings.Compare(a.Uid, b.Uid),
		)
	})
	return rows
}

// deploymentRow returns what the server is told about the deployment. The
// instance is the one that the operator says it handled; where it says nothing
// the spec's, marked as such, since phase and display state may then belong to
// the rollout before (R4). The deployment is not changed.
func deploymentRow(deployment *styrminv1.StyrminDeployment) DeploymentStatusInput {
	status := &deployment.Status
	row := DeploymentStatusInput{
		Uid:                 cleanText(string(deployment.UID)),
		Namespace:           cleanText(deployment.Namespace),
		Name:                cleanText(deployment.Name),
		DeploymentId:        cleanText(deployment.DeploymentID()),
		InstanceId:          cleanText(status.InstanceID),
		InstanceSource:      InstanceSourceStatus,
		Generation:          deployment.Generation,
		Internal:            deployment.Spec.Internal,
		TargetNamespace:     optionalText(deployment.TargetNamespace()),
		Phase:               cleanText(string(status.Phase)),
		DisplayState:        cleanText(string(status.DisplayState)),
		Message:             optionalText(status.Message),
		Conditions:          make([]ConditionInput, 0, len(status.Conditions)),
		DeletionRequestedAt: deletionRequestedAt(deployment),
	}
	if row.InstanceId == "" {
		row.InstanceId = cleanText(deployment.InstanceID())
		row.InstanceSource = InstanceSourceSpec
	}
	if status.ObservedGeneration != 0 {
		row.ObservedGeneration = ptr.To(status.ObservedGeneration)
	}
	row.Phase = cmp.Or(row.Phase, notObserved)
	row.DisplayState = cmp.Or(row.DisplayState, notObserved)
	for i := range status.Conditions {
		row.Conditions = append(row.Conditions, conditionRow(&status.Conditions[i]))
	}
	for i := range status.Components {
		component := &status.Components[i]
		row.Components = append(row.Components, ComponentStatusInput{
			Name:    cleanText(component.Name),
			Desired: int(component.Desired),
			Ready:   int(component.Ready),
			State:   cleanText(string(component.State)),
		})
	}
	return row
}

func conditionRow(condition *metav1.Condition) ConditionInput {
	row := ConditionInput{
		Type:               cleanText(condition.Type),
		Status:             cleanText(string(condition.Status)),
		Reason:             optionalText(condition.Reason),
		Message:            optionalText(condition.Message),
		LastTransitionTime: requiredTime(condition.LastTransitionTime),
	}
	if condition.ObservedGeneration != 0 {
		row.ObservedGeneration = ptr.To(condition.ObservedGeneration)
	}
	return row
}
