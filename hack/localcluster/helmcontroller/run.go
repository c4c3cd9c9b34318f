// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package helmcontroller reconciles HelmReleases with the Helm SDK and writes the status that Flux's helm-controller
// writes, in the same order. It stands in for Flux where Flux cannot be had: on the local cluster, for demo and tests.
package helmcontroller

import (
	"context"
	"fmt"
	"io"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"helm.sh/helm/v4/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/styrmin/styrmin/hack/localcluster/sourcecontroller"
)

// Options say which cluster is reconciled.
type Options struct {
	// Kubeconfig names the cluster.
	Kubeconfig string
	// HealthAddress serves /healthz and /readyz; "0" serves nothing.
	HealthAddress string
	// ArtifactsDir keeps the charts that were fetched.
	ArtifactsDir string
	// Log gets the controller's log.
	Log io.Writer
}

// shutdownGrace is how long running actions have to notice that the controller stops.
const shutdownGrace = 2 * time.Second

// Run reconciles until the context ends.
func Run(ctx context.Context, options Options) error {
	kube.ManagedFieldsManager = fieldManager // Helm's only way to set it; else it is the program's name.
	ctrl.SetLogger(zap.New(zap.WriteTo(options.Log)))
	config, err := clientcmd.BuildConfigFromFlags("", options.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	config.WarningHandler = rest.NoWarnings{} // The API server dislikes the names of Flux's finalizers.
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	grace := shutdownGrace
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  options.HealthAddress,
		GracefulShutdownTimeout: &grace,
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	if err := sourcecontroller.Setup(manager, options.ArtifactsDir); err != nil {
		return fmt.Errorf("set up the source controller: %w", err)
	}
	reconciler := &Reconciler{client: manager.GetClient(), reader: manager.GetAPIReader(), config: config}
	if err := reconciler.setup(manager); err != nil {
		return fmt.Errorf("set up the HelmRelease controller: %w", err)
	}
	if err := manager.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return manager.Start(ctx)
}
