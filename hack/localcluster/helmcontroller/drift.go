// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldManager owns the fields of all objects that releases are made of.
const fieldManager = "helm-controller"

// drift is an object of the release that the cluster has not as the release has it.
type drift struct {
	object  *unstructured.Unstructured
	removed bool
}

// String writes the drift as Flux's condition lists it.
func (d drift) String() string {
	name := d.object.GetName()
	if namespace := d.object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	change := "changed"
	if d.removed {
		change = "removed"
	}
	return fmt.Sprintf("%s/%s %s", d.object.GetKind(), name, change)
}

// detectDrift compares the release's objects with the cluster's and tells the outcome in the Drifted condition. Whether
// an object has drifted is for the API server to say: it is asked what applying the object would change.
func (r *Reconciler) detectDrift(ctx context.Context, h *helm, release *helmrelease.Release) ([]drift, error) {
	if !h.hr.GetDriftDetection().MustDetectChanges() {
		deleteCondition(h.hr, helmv2.DriftedCondition)
		return nil, nil
	}
	objects, err := manifestObjects(release, h.mapper)
	if err != nil {
		return nil, err
	}
	var drifts []drift
	for _, object := range objects {
		if object.GetAnnotations()[helmv2.DriftDetectionMetadataKey] == helmv2.DriftDetectionDisabledValue {
			continue
		}
		changed, removed, err := r.hasDrifted(ctx, object)
		if err != nil {
			return nil, fmt.Errorf("compare %s %s with the release: %w", object.GetKind(), object.GetName(), err)
		}
		if changed || removed {
			drifts = append(drifts, drift{object: object, removed: removed})
		}
	}
	if len(drifts) == 0 {
		setCondition(h.hr, helmv2.DriftedCondition, metav1.ConditionFalse, helmv2.NoDriftDetectedReason,
			"No drift detected against the cluster state")
		return nil, nil
	}
	lines := make([]string, 0, len(drifts))
	for _, d := range drifts {
		lines = append(lines, d.String())
	}
	setCondition(h.hr, helmv2.DriftedCondition, metav1.ConditionTrue, helmv2.DriftDetectedReason,
		fmt.Sprintf("Cluster state of release %s has drifted from the desired state:\n%s",
			h.hr.Status.History.Latest().FullReleaseName(), strings.Join(lines, "\n")))
	return drifts, nil
}

// hasDrifted compares one object. What others write between the two reads is no drift: the comparison names the version
// that it read, and starts again where there is a newer one.
func (r *Reconciler) hasDrifted(ctx context.Context, wanted *unstructured.Unstructured) (changed, removed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		changed, removed, err = r.compare(ctx, wanted)
		return err
	})
	return changed, removed, err
}

func (r *Reconciler) compare(ctx context.Context, wanted *unstructured.Unstructured) (changed, removed bool, err error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(wanted), live); apierrors.IsNotFound(err) {
		return false, true, nil
	} else if err != nil {
		return false, false, err
	}
	applied := wanted.DeepCopy()
	applied.SetResourceVersion(live.GetResourceVersion())
	if err := r.apply(ctx, applied, client.DryRunAll); err != nil {
		return false, false, err
	}
	for _, object := range []*unstructured.Unstructured{live, applied} {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		object.SetGeneration(0)
	}
	return !equality.Semantic.DeepEqual(live.Object, applied.Object), false, nil
}

// correctDrift makes the objects what the release has them to be.
func (r *Reconciler) correctDrift(ctx context.Context, hr *helmv2.HelmRelease, drifts []drift) error {
	markReady(hr, metav1.ConditionUnknown, fluxmeta.ProgressingReason, "correcting cluster drift")
	var failures []error
	for _, d := range drifts {
		if err := r.apply(ctx, d.object.DeepCopy()); err != nil {
			failures = append(failures, fmt.Errorf("correct %s %s: %w", d.object.GetKind(), d.object.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

func (r *Reconciler) apply(ctx context.Context, object *unstructured.Unstructured, options ...client.ApplyOption) error {
	options = append(options, client.FieldOwner(fieldManager), client.ForceOwnership)
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
}
