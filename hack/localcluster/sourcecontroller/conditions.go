// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sourcecontroller

import (
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func setCondition(conditions *[]metav1.Condition, generation int64, conditionType string, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}

// failed says that the source could not be fetched, and why; an artifact of before stays usable.
func failed(conditions *[]metav1.Condition, generation int64, reason string, err error) {
	setCondition(conditions, generation, sourcev1.FetchFailedCondition, metav1.ConditionTrue, reason, err.Error())
	setCondition(conditions, generation, fluxmeta.ReadyCondition, metav1.ConditionFalse, reason, err.Error())
}

// stored says that the source's artifact is the newest.
func stored(conditions *[]metav1.Condition, generation int64, reason, message string) {
	apimeta.RemoveStatusCondition(conditions, sourcev1.FetchFailedCondition)
	apimeta.RemoveStatusCondition(conditions, fluxmeta.StalledCondition)
	setCondition(conditions, generation, fluxmeta.ReadyCondition, metav1.ConditionTrue, reason, message)
	setCondition(conditions, generation, sourcev1.ArtifactInStorageCondition, metav1.ConditionTrue, reason, message)
}
