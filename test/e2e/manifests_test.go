// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestManifestsInstall installs config/default with kubectl, as people do. The
// namespace enforces the restricted pod security level, so pods that ask for
// more would not be made.
func TestManifestsInstall(t *testing.T) {
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	apply := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", sys.Kubeconfig, "apply", "--server-side",
		"--force-conflicts", "--validate=strict", "-k", "../../config/default")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("kubectl apply: %v\n%s", err, out)
	}
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "styrmin-system", Name: "styrmin-manager"}}
	eventually(t, time.Minute, "the manager's pods were made", func(ctx context.Context) error {
		if err := sys.Client.Get(ctx, client.ObjectKeyFromObject(manager), manager); err != nil {
			return err
		}
		if manager.Status.ReadyReplicas != 2 {
			return fmt.Errorf("want 2 replicas, got status %+v", manager.Status)
		}
		return nil
	})
	if err := sys.Client.Delete(t.Context(), manager); err != nil {
		t.Fatal(err)
	}
}
