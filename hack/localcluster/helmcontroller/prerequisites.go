// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labels that name the HelmRelease of a HelmChart.
const (
	labelName      = "helm.toolkit.fluxcd.io/name"
	labelNamespace = "helm.toolkit.fluxcd.io/namespace"
)

// blocked says why a release cannot be worked on yet.
type blocked struct {
	reason  string
	message string
	again   time.Duration
}

// prerequisites finds what the HelmRelease asks for, or what keeps it from being found. The source is its HelmChart as this
// reconciliation has seen or written it last.
func (r *Reconciler) prerequisites(ctx context.Context, hr *helmv2.HelmRelease, source *sourcev1.HelmChart) (desired, *blocked, error) {
	if message := unsupported(hr); message != "" {
		return desired{}, &blocked{reason: reasonValuesError, message: message}, nil
	}
	if message, err := r.unreadyDependency(ctx, hr); err != nil || message != "" {
		return desired{}, &blocked{reason: helmv2.DependencyNotReadyReason, message: message, again: recheckDelay}, err
	}
	loaded, obstacle := loadChart(hr, source)
	if obstacle != nil {
		return desired{}, obstacle, nil
	}
	values := hr.GetValues()
	configDigest, err := digestValues(values)
	if err != nil {
		return desired{}, nil, err
	}
	return desired{chart: loaded, values: values, configDigest: configDigest}, nil, nil
}

// unsupported names the part of a spec that this stand-in for Flux does not do, rather than pass over it silently.
func unsupported(hr *helmv2.HelmRelease) string {
	const format = "%s is not supported by the local cluster's HelmRelease controller"
	switch {
	case len(hr.Spec.ValuesFrom) > 0:
		return fmt.Sprintf(format, "spec.valuesFrom")
	case hr.Spec.KubeConfig != nil:
		return fmt.Sprintf(format, "spec.kubeConfig")
	case len(hr.Spec.PostRenderers) > 0:
		return fmt.Sprintf(format, "spec.postRenderers")
	case len(hr.GetDriftDetection().Ignore) > 0:
		return fmt.Sprintf(format, "spec.driftDetection.ignore")
	case hr.Spec.ChartRef != nil && hr.Spec.ChartRef.Kind != sourcev1.HelmChartKind:
		return fmt.Sprintf(format, "spec.chartRef of kind "+hr.Spec.ChartRef.Kind)
	case hr.Spec.Chart != nil && hr.Spec.Chart.Spec.SourceRef.Kind != sourcev1.HelmRepositoryKind:
		return fmt.Sprintf(format, "spec.chart.spec.sourceRef of kind "+hr.Spec.Chart.Spec.SourceRef.Kind)
	default:
		return ""
	}
}

// unreadyDependency names the first release that this one depends on and that is not ready.
func (r *Reconciler) unreadyDependency(ctx context.Context, hr *helmv2.HelmRelease) (string, error) {
	for _, reference := range hr.GetDependsOn() {
		key := types.NamespacedName{Namespace: reference.Namespace, Name: reference.Name}
		if key.Namespace == "" {
			key.Namespace = hr.Namespace
		}
		var dependency helmv2.HelmRelease
		if err := r.reader.Get(ctx, key, &dependency); apierrors.IsNotFound(err) {
			return fmt.Sprintf("unable to get '%s' dependency: %s", key, err), nil
		} else if err != nil {
			return "", err
		}
		ready := apimeta.IsStatusConditionTrue(dependency.Status.Conditions, fluxmeta.ReadyCondition)
		if !ready || dependency.Status.ObservedGeneration != dependency.Generation {
			return fmt.Sprintf("dependency '%s' is not ready", key), nil
		}
	}
	return "", nil
}

// chartOf returns the HelmChart of a HelmRelease, or nil when there is none. It makes the one of spec.chart, from which
// the source controller then makes the artifact.
func (r *Reconciler) chartOf(ctx context.Context, hr *helmv2.HelmRelease) (*sourcev1.HelmChart, error) {
	key, _ := chartKey(hr)
	if hr.Status.HelmChart != "" && (hr.Spec.Chart == nil || hr.Status.HelmChart != key.String()) {
		if err := r.deleteChart(ctx, hr); err != nil {
			return nil, err
		}
	}
	existing := &sourcev1.HelmChart{}
	if err := r.reader.Get(ctx, key, existing); apierrors.IsNotFound(err) {
		existing = nil
	} else if err != nil {
		return nil, fmt.Errorf("read the HelmChart: %w", err)
	}
	if hr.Spec.Chart == nil {
		return existing, nil
	}
	return r.applyChartTemplate(ctx, hr, key, existing)
}

// applyChartTemplate makes the HelmChart of spec.chart, or changes the existing one, and returns it as it was written: its
// status is that of the generation before, whatever the source controller has done since.
func (r *Reconciler) applyChartTemplate(
	ctx context.Context, hr *helmv2.HelmRelease, key types.NamespacedName, existing *sourcev1.HelmChart,
) (*sourcev1.HelmChart, error) {
	template := hr.Spec.Chart.Spec
	wanted := sourcev1.HelmChartSpec{
		Chart:             template.Chart,
		Version:           template.Version,
		SourceRef:         sourcev1.LocalHelmChartSourceReference{Kind: template.SourceRef.Kind, Name: template.SourceRef.Name},
		Interval:          hr.Spec.Chart.GetInterval(hr.Spec.Interval),
		ReconcileStrategy: template.ReconcileStrategy,
		ValuesFiles:       template.ValuesFiles,
	}
	hr.Status.HelmChart = key.String()
	switch {
	case existing == nil:
		created := &sourcev1.HelmChart{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name,
				Labels: map[string]string{labelName: hr.Name, labelNamespace: hr.Namespace},
			},
			Spec: wanted,
		}
		if err := r.client.Create(ctx, created); err != nil {
			return nil, fmt.Errorf("create the HelmChart: %w", err)
		}
		return created, nil
	case !sameChart(existing.Spec, wanted):
		base := existing.DeepCopy()
		existing.Spec = wanted
		if err := r.client.Patch(ctx, existing, client.MergeFrom(base)); err != nil {
			return nil, fmt.Errorf("change the HelmChart: %w", err)
		}
	}
	return existing, nil
}

// sameChart compares what a template decides; the API server may have defaulted the rest.
func sameChart(existing, wanted sourcev1.HelmChartSpec) bool {
	if wanted.ReconcileStrategy == "" {
		wanted.ReconcileStrategy = existing.ReconcileStrategy
	}
	if wanted.Version == "" {
		wanted.Version = existing.Version
	}
	return equality.Semantic.DeepEqual(existing, wanted)
}

// deleteChart removes the HelmChart that the status names.
func (r *Reconciler) deleteChart(ctx context.Context, hr *helmv2.HelmRelease) error {
	namespace, name := hr.Status.GetHelmChart()
	if name == "" {
		return nil
	}
	helmChart := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := r.client.Delete(ctx, helmChart); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the HelmChart: %w", err)
	}
	hr.Status.HelmChart = ""
	return nil
}

// loadChart loads the artifact of the HelmChart, or says why there is none.
func loadChart(hr *helmv2.HelmRelease, source *sourcev1.HelmChart) (*chart.Chart, *blocked) {
	key, found := chartKey(hr)
	switch {
	case !found:
		return nil, &blocked{reason: helmv2.ArtifactFailedReason, message: "neither spec.chart nor spec.chartRef is set"}
	case source == nil:
		return nil, &blocked{
			reason:  helmv2.ArtifactFailedReason,
			message: fmt.Sprintf("could not get Source object: HelmChart.source.toolkit.fluxcd.io %q not found", key.Name),
			again:   recheckDelay,
		}
	}
	if message := unreadyChart(source); message != "" {
		return nil, &blocked{
			reason:  reasonSourceNotReady,
			message: fmt.Sprintf("HelmChart '%s' is not ready: %s", key, message),
			again:   recheckDelay,
		}
	}
	loaded, err := loadArtifact(source.GetArtifact().URL)
	if err != nil {
		return nil, &blocked{
			reason:  helmv2.ArtifactFailedReason,
			message: fmt.Sprintf("Could not load chart: %s", err),
			again:   recheckDelay,
		}
	}
	return loaded, nil
}

// unreadyChart says why a HelmChart's artifact must not be used; empty when it may.
func unreadyChart(source *sourcev1.HelmChart) string {
	ready := apimeta.FindStatusCondition(source.Status.Conditions, fluxmeta.ReadyCondition)
	switch {
	case source.Generation != source.Status.ObservedGeneration:
		return "latest generation of object has not been reconciled"
	case ready != nil && ready.Status == metav1.ConditionFalse:
		return ready.Message
	case source.GetArtifact() == nil:
		return "does not have an artifact"
	default:
		return ""
	}
}

// loadArtifact loads a chart from the file that the local source controller stored.
func loadArtifact(artifact string) (*chart.Chart, error) {
	location, err := url.Parse(artifact)
	if err != nil {
		return nil, err
	}
	if location.Scheme != "file" {
		return nil, errors.New("the artifact is not of the local cluster's source controller: " + artifact)
	}
	return loader.LoadFile(location.Path)
}
