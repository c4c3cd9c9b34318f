// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

const (
	sampleNamespace = "styrmin"
	sampleName      = "shop"
	targetNamespace = "prod-shop"
)

// eventually calls check until it returns nil, and fails the test with its last
// error after timeout. It returns how long it took.
func eventually(t *testing.T, timeout time.Duration, what string, check func(context.Context) error) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	start := time.Now()
	last := errors.New("never checked")
	for {
		if err := check(ctx); err == nil {
			t.Logf("%s after %.1fs", what, time.Since(start).Seconds())
			return time.Since(start)
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not after %s: %s: %v", timeout, what, last)
		case <-ticker.C:
		}
	}
}

// writeFile writes a file for the test and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// applySample applies the sample that the demo shows.
func applySample(t *testing.T) {
	t.Helper()
	if err := sys.ApplySample(t.Context(), "../../config/samples"); err != nil {
		t.Fatal(err)
	}
}

// change edits the sample's spec, as kubectl edit does.
func change(t *testing.T, patch string) {
	t.Helper()
	deployment := &styrminv1.StyrminDeployment{}
	deployment.Namespace, deployment.Name = sampleNamespace, sampleName
	if err := sys.Client.Patch(t.Context(), deployment, client.RawPatch("application/json-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// setImage changes the image of the sample's server component.
func setImage(t *testing.T, image string) {
	t.Helper()
	change(t, fmt.Sprintf(`[{"op": "replace", "path": "/spec/helmRelease/values/server/image", "value": %q}]`, image))
}

// hasStatus checks the deployment's status in the server's answer.
func hasStatus(status string) func(context.Context) error {
	return func(ctx context.Context) error {
		deployment, err := sys.Deployment(ctx, sampleName)
		if err != nil {
			return err
		}
		if deployment == nil || deployment.Status != status {
			return fmt.Errorf("want status %s, got %+v", status, deployment)
		}
		return nil
	}
}

// runsNewest checks that the server shows the sample RUNNING, and means by it the
// spec that the cluster has now.
func runsNewest(ctx context.Context) error {
	declared := &styrminv1.StyrminDeployment{}
	if err := sys.Client.Get(ctx, client.ObjectKey{Namespace: sampleNamespace, Name: sampleName}, declared); err != nil {
		return err
	}
	deployment, err := sys.Deployment(ctx, sampleName)
	if err != nil {
		return err
	}
	if deployment == nil || deployment.Status != "RUNNING" || deployment.Observed == nil || deployment.Observed.InstanceID != declared.InstanceID() {
		return fmt.Errorf("want instance %s RUNNING, got %+v", declared.InstanceID(), deployment)
	}
	return nil
}

// hasHealthyPods checks that the server knows that many pods of a component, all
// ready and none besides.
func hasHealthyPods(component string, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		pods, err := sys.Pods(ctx, targetNamespace)
		if err != nil {
			return err
		}
		healthy, others := 0, []string(nil)
		for _, pod := range pods {
			switch {
			case pod.Component != component:
			case pod.Ready && pod.Status == "Running":
				healthy++
			default:
				others = append(others, pod.Name+" "+pod.Status)
			}
		}
		if healthy != want || len(others) > 0 {
			return fmt.Errorf("want %d healthy pods of %s, got %d and %s", want, component, healthy, strings.Join(others, ", "))
		}
		return nil
	}
}

// clusterHasReadyPods checks the cluster itself.
func clusterHasReadyPods(component string, want int) func(context.Context) error {
	return func(ctx context.Context) error {
		pods := &corev1.PodList{}
		err := sys.Client.List(ctx, pods, client.InNamespace(targetNamespace), client.MatchingLabels{"app.kubernetes.io/component": component})
		if err != nil {
			return err
		}
		ready := 0
		for i := range pods.Items {
			for _, c := range pods.Items[i].Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready != want {
			return fmt.Errorf("want %d ready pods of %s in the cluster, got %d", want, component, ready)
		}
		return nil
	}
}

func all(checks ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, check := range checks {
			if err := check(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
