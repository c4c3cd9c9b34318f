// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func condition(conditionType string, status metav1.ConditionStatus, reason string, generation int64) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: reason + " happened", ObservedGeneration: generation}
}

func TestReadyTellsTheNewestOfReleasedAndRemediated(t *testing.T) {
	released := condition(helmv2.ReleasedCondition, metav1.ConditionTrue, helmv2.UpgradeSucceededReason, 2)
	failed := condition(helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UpgradeFailedReason, 2)
	remediated := condition(helmv2.RemediatedCondition, metav1.ConditionTrue, helmv2.RollbackSucceededReason, 2)
	older := condition(helmv2.RemediatedCondition, metav1.ConditionTrue, helmv2.RollbackSucceededReason, 1)
	stalled := condition(fluxmeta.StalledCondition, metav1.ConditionTrue, reasonRetriesExceeded, 2)
	tests := map[string]struct {
		conditions  []metav1.Condition
		want        *metav1.Condition
		wantStalled bool
	}{
		"nothing was released yet":                               {},
		"a success makes it ready and not stalled":               {conditions: []metav1.Condition{stalled, released}, want: ready(metav1.ConditionTrue, released)},
		"a failure makes it not ready":                           {conditions: []metav1.Condition{stalled, failed}, want: ready(metav1.ConditionFalse, failed), wantStalled: true},
		"a remediation of the same generation comes before it":   {conditions: []metav1.Condition{failed, remediated}, want: ready(metav1.ConditionFalse, remediated)},
		"a remediation of an earlier generation is of no weight": {conditions: []metav1.Condition{released, older}, want: ready(metav1.ConditionTrue, released)},
		"a remediation alone is not ready":                       {conditions: []metav1.Condition{remediated}, want: ready(metav1.ConditionFalse, remediated)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			hr.Status.Conditions = test.conditions
			summarize(hr)
			got := apimeta.FindStatusCondition(hr.Status.Conditions, fluxmeta.ReadyCondition)
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")); diff != "" {
				t.Errorf("Ready (-want +got):\n%s", diff)
			}
			if got := apimeta.IsStatusConditionTrue(hr.Status.Conditions, fluxmeta.StalledCondition); got != test.wantStalled {
				t.Errorf("stalled = %t, want %t", got, test.wantStalled)
			}
		})
	}
}

func ready(status metav1.ConditionStatus, of metav1.Condition) *metav1.Condition {
	return &metav1.Condition{Type: fluxmeta.ReadyCondition, Status: status, Reason: of.Reason, Message: of.Message, ObservedGeneration: 3}
}

func TestDigestsAreThoseOfFlux(t *testing.T) {
	tests := map[string]struct {
		values map[string]any
		want   string
	}{
		"no values are the digest of nothing": {want: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		"values are the digest of their YAML": {values: map[string]any{"replicas": 2}, want: "sha256:e3e28ba0ad9ff6f4205af6251eb1639148ee162e2552b6819b251d59235d92dd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := digestValues(test.values)
			if err != nil || got != test.want {
				t.Errorf("digest = %s, %v, want %s", got, err, test.want)
			}
		})
	}
}
