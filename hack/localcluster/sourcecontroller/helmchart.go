// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sourcecontroller

import (
	"context"
	"errors"
	"fmt"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"
)

// chartFolder is where the archives of HelmCharts are stored.
const chartFolder = "helmchart"

// Reasons that Flux writes without a constant in its API package.
const (
	reasonInvalidChartReference = "InvalidChartReference"
	reasonChartPullError        = "ChartPullError"
	reasonChartPullSucceeded    = "ChartPullSucceeded"
	reasonNoSourceArtifact      = "NoSourceArtifact"
	reasonSourceUnavailable     = "SourceUnavailable"
)

// chartReconciler stores the archive of each HelmChart.
type chartReconciler struct {
	client    client.Client
	reader    client.Reader
	artifacts artifacts
}

// Reconcile implements reconcile.Reconciler. A chart that its repository does not have is stalled until the repository or
// the chart changes; all other failures are tried again.
func (r *chartReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var chart sourcev1.HelmChart
	if err := r.reader.Get(ctx, request.NamespacedName, &chart); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	again, err := attend(ctx, r.client, r.artifacts, chartFolder, &chart)
	if again != nil || err != nil || chart.Spec.Suspend {
		return reconcileResult(again), err
	}
	base := chart.DeepCopy()
	pullErr := r.pull(ctx, &chart)
	if token, requested := fluxmeta.ReconcileAnnotationValue(chart.GetAnnotations()); requested {
		chart.Status.SetLastHandledReconcileRequest(token)
	}
	if err := r.client.Status().Patch(ctx, &chart, client.MergeFrom(base)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if errors.Is(pullErr, errNoSuchVersion) {
		return reconcile.Result{RequeueAfter: chart.GetRequeueAfter()}, nil
	}
	return reconcile.Result{RequeueAfter: chart.GetRequeueAfter()}, pullErr
}

func (r *chartReconciler) pull(ctx context.Context, chart *sourcev1.HelmChart) error {
	conditions, generation := &chart.Status.Conditions, chart.Generation
	repository, reason, err := r.repository(ctx, chart)
	if err != nil {
		failed(conditions, generation, reason, err)
		return err
	}
	index, err := r.index(repository)
	if err != nil {
		failed(conditions, generation, reasonNoSourceArtifact, err)
		return err
	}
	if r.current(chart, repository, index) {
		chart.Status.ObservedGeneration = generation
		succeeded(chart)
		return nil
	}
	content, version, err := fetchChart(repository, index, chart.Spec.Chart, chart.Spec.Version)
	if errors.Is(err, errNoSuchVersion) {
		chart.Status.ObservedGeneration = generation
		failed(conditions, generation, reasonInvalidChartReference, err)
		setCondition(conditions, generation, fluxmeta.StalledCondition, metav1.ConditionTrue, reasonInvalidChartReference, err.Error())
		return err
	}
	if err != nil {
		failed(conditions, generation, reasonChartPullError, err)
		return err
	}
	artifact, err := r.artifacts.store(chartFolder, chart, fmt.Sprintf("%s-%s.tgz", chart.Spec.Chart, version), version, content)
	if err != nil {
		failed(conditions, generation, sourcev1.ArchiveOperationFailedReason, err)
		return err
	}
	chart.Status.Artifact, chart.Status.URL = artifact, artifact.URL
	chart.Status.ObservedChartName = chart.Spec.Chart
	if repository.Status.Artifact != nil {
		chart.Status.ObservedSourceArtifactRevision = repository.Status.Artifact.Revision
	}
	chart.Status.ObservedGeneration = generation
	succeeded(chart)
	return nil
}

func succeeded(chart *sourcev1.HelmChart) {
	stored(&chart.Status.Conditions, chart.Generation, reasonChartPullSucceeded,
		fmt.Sprintf("pulled '%s' chart with version '%s'", chart.Status.ObservedChartName, chart.Status.Artifact.Revision))
}

// repository returns the HelmRepository of a chart, or the reason why there is none to use.
func (r *chartReconciler) repository(ctx context.Context, chart *sourcev1.HelmChart) (*sourcev1.HelmRepository, string, error) {
	if kind := chart.Spec.SourceRef.Kind; kind != sourcev1.HelmRepositoryKind {
		return nil, reasonSourceUnavailable, errors.New("source kind " + kind + " is not supported by the local cluster's source controller")
	}
	var repository sourcev1.HelmRepository
	key := types.NamespacedName{Namespace: chart.Namespace, Name: chart.Spec.SourceRef.Name}
	if err := r.reader.Get(ctx, key, &repository); err != nil {
		return nil, reasonSourceUnavailable, fmt.Errorf("failed to get source: %w", err)
	}
	if message := unsupported(&repository); message != "" {
		return nil, reasonSourceUnavailable, errors.New(message)
	}
	if repository.Spec.Type != sourcev1.HelmRepositoryTypeOCI && repository.Status.Artifact == nil {
		return nil, reasonNoSourceArtifact, fmt.Errorf("no artifact available for HelmRepository source '%s'", repository.Name)
	}
	return &repository, "", nil
}

// index reads the stored index of a repository; those of type oci have none.
func (r *chartReconciler) index(repository *sourcev1.HelmRepository) (*repo.IndexFile, error) {
	if repository.Spec.Type == sourcev1.HelmRepositoryTypeOCI {
		return nil, nil
	}
	content, err := r.artifacts.load(repository.Status.Artifact)
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, fmt.Errorf("no artifact available for HelmRepository source '%s'", repository.Name)
	}
	index := repo.NewIndexFile()
	if err := yaml.Unmarshal(content, index); err != nil {
		return nil, fmt.Errorf("failed to read Helm repository index: %w", err)
	}
	index.SortEntries()
	return index, nil
}

// current reports whether the stored archive still is what the repository offers, so that it need not be pulled again.
func (r *chartReconciler) current(chart *sourcev1.HelmChart, repository *sourcev1.HelmRepository, index *repo.IndexFile) bool {
	artifact := chart.Status.Artifact
	if index == nil || artifact == nil || chart.Status.ObservedChartName != chart.Spec.Chart {
		return false
	}
	entry, err := index.Get(chart.Spec.Chart, chart.Spec.Version)
	if err != nil || entry.Version != artifact.Revision || chart.Status.ObservedSourceArtifactRevision != repository.Status.Artifact.Revision {
		return false
	}
	content, err := r.artifacts.load(artifact)
	return err == nil && content != nil
}

// chartsOf maps a HelmRepository to the HelmCharts that are pulled from it.
func (r *chartReconciler) chartsOf(ctx context.Context, source client.Object) []reconcile.Request {
	var list sourcev1.HelmChartList
	if err := r.client.List(ctx, &list, client.InNamespace(source.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the charts of a repository", "repository", client.ObjectKeyFromObject(source))
		return nil
	}
	var requests []reconcile.Request
	for _, chart := range list.Items {
		if chart.Spec.SourceRef.Kind == sourcev1.HelmRepositoryKind && chart.Spec.SourceRef.Name == source.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&chart)})
		}
	}
	return requests
}
