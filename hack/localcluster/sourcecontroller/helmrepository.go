// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sourcecontroller

import (
	"context"
	"errors"
	"fmt"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// repositoryFolder is where the indexes of HelmRepositories are stored.
const repositoryFolder = "helmrepository"

// repositoryReconciler stores the index of each HelmRepository. Repositories of type oci have none and need no status.
type repositoryReconciler struct {
	client    client.Client
	reader    client.Reader
	artifacts artifacts
}

// Reconcile implements reconcile.Reconciler.
func (r *repositoryReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var repository sourcev1.HelmRepository
	if err := r.reader.Get(ctx, request.NamespacedName, &repository); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if repository.Spec.Type == sourcev1.HelmRepositoryTypeOCI || repository.Spec.Suspend {
		return reconcile.Result{}, nil
	}
	again, err := attend(ctx, r.client, r.artifacts, repositoryFolder, &repository)
	if again != nil || err != nil {
		return reconcileResult(again), err
	}
	base := repository.DeepCopy()
	fetchErr := r.fetch(&repository)
	if token, requested := fluxmeta.ReconcileAnnotationValue(repository.GetAnnotations()); requested {
		repository.Status.SetLastHandledReconcileRequest(token)
	}
	if err := r.client.Status().Patch(ctx, &repository, client.MergeFrom(base)); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{RequeueAfter: repository.GetRequeueAfter()}, fetchErr
}

func (r *repositoryReconciler) fetch(repository *sourcev1.HelmRepository) error {
	conditions := &repository.Status.Conditions
	generation := repository.Generation
	content, err := r.fetchSupported(repository)
	if err != nil {
		failed(conditions, generation, fluxmeta.FailedReason, err)
		return err
	}
	if repository.Status.Artifact == nil || !repository.Status.Artifact.HasDigest(digest(content)) {
		revision := digest(content)
		artifact, err := r.artifacts.store(repositoryFolder, repository, "index-"+revision[len("sha256:"):]+".yaml", revision, content)
		if err != nil {
			failed(conditions, generation, sourcev1.ArchiveOperationFailedReason, err)
			return err
		}
		repository.Status.Artifact, repository.Status.URL = artifact, artifact.URL
	}
	repository.Status.ObservedGeneration = generation
	stored(conditions, generation, fluxmeta.SucceededReason,
		fmt.Sprintf("stored artifact: revision '%s'", repository.Status.Artifact.Revision))
	return nil
}

func (r *repositoryReconciler) fetchSupported(repository *sourcev1.HelmRepository) ([]byte, error) {
	if message := unsupported(repository); message != "" {
		return nil, errors.New(message)
	}
	return fetchIndex(repository)
}

// unsupported names what this stand-in for Flux does not do, rather than pass over it silently.
func unsupported(repository *sourcev1.HelmRepository) string {
	if repository.Spec.SecretRef != nil || repository.Spec.CertSecretRef != nil {
		return "credentials for a repository are not supported by the local cluster's source controller"
	}
	return ""
}
