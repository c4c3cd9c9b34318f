// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kubectl is the path of the kubectl that belongs to the tests' control plane.
func Kubectl() string { return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl") }

// Kustomize builds the manifests of a folder, as kubectl apply -k does.
func Kustomize(ctx context.Context, dir string) ([]byte, error) {
	build := exec.CommandContext(ctx, Kubectl(), "kustomize", dir) //nolint:gosec // The tests name the folder.
	var failure bytes.Buffer
	build.Stderr = &failure
	out, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl kustomize %s: %w: %s", dir, err, failure.String())
	}
	return out, nil
}

// LoadOverlay builds the manifests of a folder and reads its objects.
func LoadOverlay(ctx context.Context, dir string) ([]*unstructured.Unstructured, error) {
	out, err := Kustomize(ctx, dir)
	if err != nil {
		return nil, err
	}
	return decode(bytes.NewReader(out), dir)
}
