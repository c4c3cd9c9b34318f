// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// statusPatcher writes the status of one HelmRelease in pieces, as Flux does: first the conditions that changed, then the
// rest. Readers of the object see the states in between, so the order is part of what this package imitates.
type statusPatcher struct {
	client client.Client
	// reader reads past the cache: conditions are merged into what the API server has now.
	reader client.Reader
	// written is the object as this reconciliation last wrote it.
	written *helmv2.HelmRelease
}

func newStatusPatcher(c client.Client, reader client.Reader, hr *helmv2.HelmRelease) *statusPatcher {
	return &statusPatcher{client: c, reader: reader, written: hr.DeepCopy()}
}

// patch writes what changed in the status since the last patch.
func (p *statusPatcher) patch(ctx context.Context, hr *helmv2.HelmRelease) error {
	if err := p.patchConditions(ctx, hr); err != nil {
		return fmt.Errorf("write the conditions: %w", err)
	}
	before, after := p.written.DeepCopy(), p.written.DeepCopy()
	hr.Status.DeepCopyInto(&after.Status)
	after.Status.Conditions = before.Status.Conditions
	if !equality.Semantic.DeepEqual(before.Status, after.Status) {
		if err := p.client.Status().Patch(ctx, after, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("write the status: %w", err)
		}
	}
	hr.Status.DeepCopyInto(&p.written.Status)
	return nil
}

// patchConditions applies the changed conditions to the newest object and stamps them with that object's generation. This
// is why a change of the spec during an action marks that action's result with the new generation, while
// observedGeneration and lastAttemptedGeneration keep the truth.
func (p *statusPatcher) patchConditions(ctx context.Context, hr *helmv2.HelmRelease) error {
	set, removed := changedConditions(p.written.Status.Conditions, hr.Status.Conditions)
	if len(set) == 0 && len(removed) == 0 {
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var latest helmv2.HelmRelease
		if err := p.reader.Get(ctx, client.ObjectKeyFromObject(hr), &latest); err != nil {
			return client.IgnoreNotFound(err)
		}
		base := latest.DeepCopy()
		for _, condition := range set {
			condition.ObservedGeneration = latest.Generation
			apimeta.SetStatusCondition(&latest.Status.Conditions, condition)
		}
		for _, conditionType := range removed {
			apimeta.RemoveStatusCondition(&latest.Status.Conditions, conditionType)
		}
		return p.client.Status().Patch(ctx, &latest, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
	})
}

// changedConditions compares two lists of conditions by their types.
func changedConditions(before, after []metav1.Condition) (set []metav1.Condition, removed []string) {
	for _, condition := range after {
		old := apimeta.FindStatusCondition(before, condition.Type)
		if old == nil || !equality.Semantic.DeepEqual(*old, condition) {
			set = append(set, condition)
		}
	}
	for _, condition := range before {
		if apimeta.FindStatusCondition(after, condition.Type) == nil {
			removed = append(removed, condition.Type)
		}
	}
	return set, removed
}
