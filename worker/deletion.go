// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=styrmin.io,resources=styrmindeployments,verbs=get;delete

// requestDeletion asks for the deletion of the StyrminDeployment; the operator
// carries it out. It is recorded first, as a write is. One that is gone already,
// and one of the name that is another deployment's, are none of this task's: then
// there is nothing to ask for.
func (f *flow) requestDeletion(ctx context.Context) error {
	if err := f.server.recordDeletionRequest(ctx, f.id); err != nil {
		return err
	}
	return f.persistently(ctx, "deleting a StyrminDeployment", f.deleteObject)
}

func (f *flow) deleteObject(ctx context.Context) error {
	existing, err := f.read(ctx)
	if err != nil {
		return err
	}
	if existing == nil || existing.DeletionTimestamp != nil && existing.DeploymentID() == f.task.DeploymentId {
		return nil
	}
	if id := existing.DeploymentID(); id != f.task.DeploymentId {
		f.log.Info("Left a StyrminDeployment untouched that is another deployment's", "object", f.object, "owner", id)
		return nil
	}
	err = f.writer.Delete(ctx, existing, client.Preconditions{UID: &existing.UID})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting StyrminDeployment %s: %w", f.object, err)
	}
	return nil
}
