// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// delete uninstalls the release of a HelmRelease that is being deleted and lets the object go. A suspended one is let go
// at once, and so is one that has recorded no release: what they left in the cluster stays there, as with Flux.
func (r *Reconciler) delete(ctx context.Context, hr *helmv2.HelmRelease) error {
	if !controllerutil.ContainsFinalizer(hr, helmv2.HelmReleaseFinalizer) {
		return nil
	}
	if !hr.Spec.Suspend {
		patcher := newStatusPatcher(r.client, r.reader, hr)
		err := r.uninstall(ctx, hr)
		if err == nil {
			err = r.deleteChart(ctx, hr)
			hr.Status.HelmChart = patcher.written.Status.HelmChart // The object goes; only its conditions are told.
		}
		if patchErr := patcher.patch(ctx, hr); err != nil || patchErr != nil {
			return errors.Join(err, patchErr)
		}
	}
	base := hr.DeepCopy()
	controllerutil.RemoveFinalizer(hr, helmv2.HelmReleaseFinalizer)
	return client.IgnoreNotFound(r.client.Patch(ctx, hr, client.MergeFrom(base)))
}

// uninstall removes the recorded release and tells in the conditions how that went.
func (r *Reconciler) uninstall(ctx context.Context, hr *helmv2.HelmRelease) error {
	latest := hr.Status.History.Latest()
	if latest == nil {
		return nil
	}
	h, err := newHelm(ctx, r.config, hr)
	if err != nil {
		return err
	}
	stored, err := h.last()
	if err != nil {
		return err
	}
	defer summarize(hr)
	if stored == nil {
		setCondition(hr, helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UninstallSucceededReason,
			fmt.Sprintf("Release %s was not found, assuming it is uninstalled", latest.FullReleaseName()))
		return nil
	}
	if err := h.uninstall(); err != nil {
		hr.Status.Failures++
		setCondition(hr, helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UninstallFailedReason,
			fmt.Sprintf("Helm uninstall failed for release %s with chart %s: %s",
				latest.FullReleaseName(), latest.VersionedChartName(), strings.TrimSpace(err.Error())))
		return err
	}
	setCondition(hr, helmv2.ReleasedCondition, metav1.ConditionFalse, helmv2.UninstallSucceededReason,
		fmt.Sprintf("Helm uninstall succeeded for release %s with chart %s", latest.FullReleaseName(), latest.VersionedChartName()))
	return nil
}
