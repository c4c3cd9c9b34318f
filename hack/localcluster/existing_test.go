// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/styrmin/styrmin/hack/localcluster/binaries"
)

// TestUpOnAnExistingClusterAddsWhatIsMissing uses an API server that localcluster did not start, twice: first it has no
// Flux, then it has one of its own.
func TestUpOnAnExistingClusterAddsWhatIsMissing(t *testing.T) {
	t.Parallel()
	kubeconfig := existingCluster(t)
	c := clientOf(t, kubeconfig)

	without := up(t, t.TempDir(), "--kubeconfig", kubeconfig)
	if without.kubeconfig != kubeconfig {
		t.Errorf("KUBECONFIG = %s, want the existing cluster's %s", without.kubeconfig, kubeconfig)
	}
	if started := processesOf(t, without.dir); len(started) > 2 {
		t.Errorf("processes: %v, want localcluster and the HelmRelease controller alone", started)
	}
	installShop(t, without, `{}`, func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{DisableWait: true} // Nothing runs pods here.
	})
	awaitShop(t, c, helmv2.InstallSucceededReason)
	without.stop(t)

	markAsForeign(t, c)
	with := up(t, t.TempDir(), "--kubeconfig", kubeconfig)
	if started := processesOf(t, with.dir); len(started) > 1 {
		t.Errorf("processes: %v, want localcluster alone", started)
	}
	with.stop(t) // All that it said has been read then.
	if want := "its own Flux is used"; !strings.Contains(with.stderr.String(), want) {
		t.Errorf("stderr lacks %q", want)
	}
}

// existingCluster starts etcd and kube-apiserver alone and returns a kubeconfig for them.
func existingCluster(t *testing.T) string {
	t.Helper()
	store, err := binaries.Open(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	assets, err := store.EnsureAssets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	environment := &envtest.Environment{BinaryAssetsDirectory: assets}
	if _, err := environment.Start(); err != nil {
		t.Fatalf("Start the existing cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Errorf("Stop the existing cluster: %v", err)
		}
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// markAsForeign makes the Flux API look like one that somebody else has installed.
func markAsForeign(t *testing.T, c client.Client) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := c.Get(t.Context(), client.ObjectKey{Name: "helmreleases.helm.toolkit.fluxcd.io"}, crd); err != nil {
		t.Fatal(err)
	}
	base := crd.DeepCopy()
	crd.SetLabels(nil)
	if err := c.Patch(t.Context(), crd, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
}
