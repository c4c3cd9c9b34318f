// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons that Flux writes without a constant in its API package.
const (
	reasonSourceNotReady  = "SourceNotReady"
	reasonValuesError     = "ValuesError"
	reasonStateError      = "StateError"
	reasonPendingRelease  = "PendingRelease"
	reasonRetriesExceeded = "RetriesExceeded"
	reasonReconcileError  = "ReconcileError"
)

// setCondition sets a condition for the object's generation. The transition time stays while the status does.
func setCondition(hr *helmv2.HelmRelease, conditionType string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&hr.Status.Conditions, metav1.Condition{
		Type:               conditionType,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: hr.Generation,
	})
}

func deleteCondition(hr *helmv2.HelmRelease, conditionType string) {
	apimeta.RemoveStatusCondition(&hr.Status.Conditions, conditionType)
}

// markReconciling says what is being done; a release that is worked on is not stalled.
func markReconciling(hr *helmv2.HelmRelease, reason, message string) {
	deleteCondition(hr, fluxmeta.StalledCondition)
	setCondition(hr, fluxmeta.ReconcilingCondition, metav1.ConditionTrue, reason, message)
}

// markStalled says that nothing more will be done without a change.
func markStalled(hr *helmv2.HelmRelease, reason, format string, args ...any) {
	deleteCondition(hr, fluxmeta.ReconcilingCondition)
	setCondition(hr, fluxmeta.StalledCondition, metav1.ConditionTrue, reason, fmt.Sprintf(format, args...))
}

func markReady(hr *helmv2.HelmRelease, status metav1.ConditionStatus, reason, message string) {
	setCondition(hr, fluxmeta.ReadyCondition, status, reason, message)
}

// markRetrying says that the same will be tried again, and repeats why the last try failed.
func markRetrying(hr *helmv2.HelmRelease) {
	message := ""
	if ready := apimeta.FindStatusCondition(hr.Status.Conditions, fluxmeta.ReadyCondition); ready != nil {
		message = ready.Message
	}
	markReconciling(hr, fluxmeta.ProgressingWithRetryReason, message)
}

// summarize makes Ready tell what Remediated or else Released tells: the one of the newer generation, and Remediated when
// they are of the same. A remediated release is not ready, however well the remediation went.
func summarize(hr *helmv2.HelmRelease) {
	released := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ReleasedCondition)
	remediated := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.RemediatedCondition)
	told, status := released, metav1.ConditionFalse
	if remediated != nil && (released == nil || remediated.ObservedGeneration >= released.ObservedGeneration) {
		told = remediated
	} else if released != nil {
		status = released.Status
	}
	if told == nil {
		return
	}
	reason, message := told.Reason, told.Message // Removing a condition moves the others in memory.
	if status == metav1.ConditionTrue {
		deleteCondition(hr, fluxmeta.StalledCondition)
	}
	markReady(hr, status, reason, message)
}
