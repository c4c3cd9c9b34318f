// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cleanupTimeout is how long a test may take to remove what it has made.
const cleanupTimeout = 3 * time.Minute

// afterwards does something at the end of the test, whatever came of it, and until
// it works: tests may be repeated on the same system.
func afterwards(t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), cleanupTimeout)
		defer cancel()
		ticker := time.NewTicker(250 * time.Millisecond)
		defer ticker.Stop()
		for {
			err := do(ctx)
			if err == nil {
				return
			}
			select {
			case <-ctx.Done():
				t.Errorf("cleaning up: %s: %v", what, err)
				return
			case <-ticker.C:
			}
		}
	})
}

// deleteAfterwards deletes the deployment of that name at the end of the test, if it
// is there, as users do.
func deleteAfterwards(t *testing.T, name string) {
	t.Helper()
	afterwards(t, "deployment "+name, func(ctx context.Context) error { return deleteDeployment(ctx, name) })
}

// deleteDeployment asks for the deletion of the deployment of that name. It returns
// an error until that is done and the name is free again; asking again does no harm.
func deleteDeployment(ctx context.Context, name string) error {
	deployment, err := sys.Deployment(ctx, name)
	if err != nil {
		return err
	}
	if deployment == nil {
		return isUnseen(ctx, name)
	}
	if deployment.Status != "DELETING" {
		err := sys.Query(ctx, `mutation ($id: ID!) { deleteDeployment(id: $id) { id } }`, map[string]any{"id": deployment.ID}, &struct{}{})
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("it is %s", deployment.Status)
}

// isUnseen checks that no report shows a deleted deployment of that name any more.
func isUnseen(ctx context.Context, name string) error {
	answer := struct {
		Deployments []struct{ Observed *struct{ Phase string } }
	}{}
	err := sys.Query(ctx, `query ($name: String) { deployments(filter: {name: $name, status: DELETED}) { observed { phase } } }`,
		map[string]any{"name": name}, &answer)
	if err != nil {
		return err
	}
	for _, deleted := range answer.Deployments {
		if deleted.Observed != nil {
			return fmt.Errorf("it is still seen as %s", deleted.Observed.Phase)
		}
	}
	return nil
}

// removeAfterwards deletes objects of the cluster at the end of the test and waits
// until they are gone.
func removeAfterwards(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		afterwards(t, fmt.Sprintf("%T %s", object, object.GetName()), func(ctx context.Context) error {
			err := sys.Client.Delete(ctx, object)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err == nil {
				err = errors.New("it is being deleted")
			}
			return err
		})
	}
}
