// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the programs of a Kubernetes control plane. It builds them from the Go module proxy, once,
// into a per-user cache folder, so that neither Docker nor a download site is needed.
package binaries

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Binary names a program that this package can provide.
type Binary string

// The programs of a control plane with simulated kubelets.
const (
	Etcd                  Binary = "etcd"
	KubeAPIServer         Binary = "kube-apiserver"
	KubeControllerManager Binary = "kube-controller-manager"
	KubeScheduler         Binary = "kube-scheduler"
	Kubectl               Binary = "kubectl"
	Kwok                  Binary = "kwok"
)

// recipe says how a binary is built: the package, the sub-module whose go.mod pins it, and how long the first build
// takes on two cores, for the person who waits.
type recipe struct {
	binary  Binary
	module  string
	pkg     string
	minutes int
}

var recipes = []recipe{
	{Etcd, "etcd", "go.etcd.io/etcd/server/v3", 1},
	{KubeAPIServer, "controlplane", "k8s.io/kubernetes/cmd/kube-apiserver", 5},
	{Kubectl, "controlplane", "k8s.io/kubernetes/cmd/kubectl", 1},
	{KubeControllerManager, "controlplane", "k8s.io/kubernetes/cmd/kube-controller-manager", 2},
	{KubeScheduler, "controlplane", "k8s.io/kubernetes/cmd/kube-scheduler", 1},
	{Kwok, "kwok", "sigs.k8s.io/kwok/cmd/kwok", 1},
}

// All lists every binary, in the order in which they are built.
func All() []Binary {
	all := make([]Binary, 0, len(recipes))
	for _, r := range recipes {
		all = append(all, r.binary)
	}
	return all
}

// Assets lists the binaries that envtest needs in KUBEBUILDER_ASSETS.
func Assets() []Binary {
	return []Binary{Etcd, KubeAPIServer, Kubectl}
}

// modules lists the sub-modules of the recipes, whose go.mod and go.sum decide what is built.
func modules() []string {
	return []string{"controlplane", "etcd", "kwok"}
}

// recipeFolder finds the folder that holds the recipes' sub-modules. They have go.mod files of their own, so they cannot
// be embedded: the checkout is looked for upwards from the program and from the working directory.
func recipeFolder() (string, error) {
	var starts []string
	if executable, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(executable))
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			for _, candidate := range []string{dir, filepath.Join(dir, "hack", "localcluster")} {
				if holdsRecipes(candidate) {
					return candidate, nil
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", errors.New("the build recipes were not found: run localcluster inside a checkout, or set KUBEBUILDER_ASSETS to a folder with " + fmt.Sprint(All()))
}

// holdsRecipes reports whether dir has every sub-module of the recipes.
func holdsRecipes(dir string) bool {
	for _, module := range modules() {
		if _, err := os.Stat(filepath.Join(dir, module, "go.mod")); err != nil {
			return false
		}
	}
	return true
}
