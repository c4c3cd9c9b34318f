// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/hack/localcluster/crds"
	"github.com/styrmin/styrmin/hack/localcluster/process"
)

// FluxBinaries are the paths of real Flux controllers. Both or neither are set: the one reads what the other fetches.
type FluxBinaries struct {
	HelmController   string
	SourceController string
}

// Environment variables that name real Flux controllers.
const (
	HelmControllerVariable   = "LOCALCLUSTER_HELM_CONTROLLER"
	SourceControllerVariable = "LOCALCLUSTER_SOURCE_CONTROLLER"
)

// FluxFromEnvironment reads the paths of real Flux controllers.
func FluxFromEnvironment() (FluxBinaries, error) {
	b := FluxBinaries{HelmController: os.Getenv(HelmControllerVariable), SourceController: os.Getenv(SourceControllerVariable)}
	if (b.HelmController == "") != (b.SourceController == "") {
		return FluxBinaries{}, fmt.Errorf("%s and %s: set both or neither", HelmControllerVariable, SourceControllerVariable)
	}
	return b, nil
}

// HelmReleaseControllerCommand is the sub-command of this program that runs our HelmRelease controller.
const HelmReleaseControllerCommand = "helmrelease-controller"

// helmReleaseCRD tells whether Flux is installed.
const helmReleaseCRD = "helmreleases.helm.toolkit.fluxcd.io"

// installedByUs marks the CustomResourceDefinitions that this program installed, so that a second run does not take them
// for a real Flux.
const installedByUs = "localcluster.styrmin.io/installed"

// fluxSetup is what the Flux part of a cluster is started from.
type fluxSetup struct {
	layout  layout
	ports   ports
	options Options
	// kubeconfig is the one that the controllers use.
	kubeconfig string
}

// startFlux makes sure that someone serves the Flux API: the one of an existing cluster, the real controllers of the
// options, or ours.
func startFlux(ctx context.Context, c client.Client, setup fluxSetup, s *supervisor) error {
	if setup.options.Kubeconfig != "" {
		served, err := servesFlux(ctx, c)
		if err != nil {
			return err
		}
		if served {
			_, _ = fmt.Fprintln(setup.options.Progress, "The cluster serves the Flux API: its own Flux is used")
			return nil
		}
	}
	for _, files := range []fs.FS{crds.Flux, crds.Traefik} {
		if err := installCRDs(ctx, c, files); err != nil {
			return err
		}
	}
	specs, err := setup.controllers()
	if err != nil {
		return err
	}
	if err := s.startTier(specs...); err != nil {
		return err
	}
	url := "http://" + address(setup.ports.helmController) + "/readyz"
	return await(ctx, "get an answer from the HelmRelease controller", healthy(http.DefaultClient, url))
}

// servesFlux reports whether a Flux that is not ours is installed.
func servesFlux(ctx context.Context, c client.Client) (bool, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	err := c.Get(ctx, client.ObjectKey{Name: helmReleaseCRD}, &crd)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for Flux: %w", err)
	}
	return crd.Labels[installedByUs] != "true", nil
}

// controllers returns the processes that reconcile the Flux API.
func (f fluxSetup) controllers() ([]process.Spec, error) {
	if f.options.Flux.HelmController == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		return []process.Spec{{
			Name: HelmReleaseControllerCommand,
			Path: self,
			Args: []string{
				HelmReleaseControllerCommand,
				"--kubeconfig=" + f.kubeconfig,
				"--health-address=" + address(f.ports.helmController),
				"--artifacts-dir=" + f.layout.sources(),
			},
			LogFile: f.layout.log(HelmReleaseControllerCommand),
		}}, nil
	}
	env := []string{"KUBECONFIG=" + f.kubeconfig, "RUNTIME_NAMESPACE=default"}
	files := address(f.ports.sourceFiles)
	return []process.Spec{
		{
			Name: "source-controller", Path: f.options.Flux.SourceController, Env: env, LogFile: f.layout.log("source-controller"),
			Args: []string{
				"--storage-path=" + f.layout.sources(), "--storage-addr=" + files, "--storage-adv-addr=" + files,
				"--health-addr=" + address(f.ports.sourceController), "--metrics-addr=0", "--events-addr=",
			},
		},
		{
			Name: "helm-controller", Path: f.options.Flux.HelmController, Env: env, LogFile: f.layout.log("helm-controller"),
			Args: []string{"--health-addr=" + address(f.ports.helmController), "--metrics-addr=0", "--events-addr="},
		},
	}, nil
}
