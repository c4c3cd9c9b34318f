// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/styrmin/styrmin/controllers"
	"github.com/styrmin/styrmin/reporter"
	"github.com/styrmin/styrmin/worker"
)

const (
	// leaderElectionID names the Lease that the leader holds.
	leaderElectionID = "styrmin-manager"
	// shutdownTimeout bounds the manager's own part of a clean end.
	shutdownTimeout = 8 * time.Second
)

// agent is the program: one manager with the worker, the operator and the reporter.
type agent struct {
	opts   *options
	config *rest.Config
}

func newAgent(opts *options, config *rest.Config) *agent {
	return &agent{opts: opts, config: config}
}

// run works until ctx ends.
func (a *agent) run(ctx context.Context) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&a.opts.zap)))
	mgr, err := a.newManager()
	if err != nil {
		return err
	}
	if err := a.addParts(ctx, mgr); err != nil {
		return err
	}
	ctrl.Log.Info("Starting the agent", "version", version, "server", a.opts.serverAddress, "disabled", a.opts.disabled)
	if err := startManager(ctx, mgr, syncTimeout, shutdownTimeout); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func (a *agent) newManager() (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := controllers.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the API types: %w", err)
	}
	timeout := shutdownTimeout
	mgr, err := ctrl.NewManager(a.config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{ByObject: cacheByObject()},
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics:                       a.metrics(),
		HealthProbeBindAddress:        a.opts.healthProbeBindAddress,
		LeaderElection:                a.opts.leaderElect,
		LeaderElectionID:              leaderElectionID,
		LeaderElectionNamespace:       a.opts.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true, // The process ends as soon as the manager has.
		GracefulShutdownTimeout:       &timeout,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr, nil
}

// cacheByObject is what the cache keeps of each kind. The operator and the
// reporter read pods and StyrminDeployments from the same store.
func cacheByObject() map[client.Object]cache.ByObject {
	byObject := controllers.CacheByObject()
	maps.Copy(byObject, reporter.CacheByObject())
	return byObject
}

func (a *agent) metrics() metricsserver.Options {
	options := metricsserver.Options{BindAddress: a.opts.metricsBindAddress, SecureServing: a.opts.metricsSecure}
	if a.opts.metricsSecure {
		options.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return options
}

func (a *agent) addParts(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("adding the liveness check: %w", err)
	}
	if a.opts.enabled(partOperator) {
		if err := controllers.SetupWithManager(ctx, mgr, controllers.Options{}); err != nil {
			return fmt.Errorf("setting up the operator: %w", err)
		}
	}
	if !a.opts.needsServer() {
		return nil
	}
	agentID, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("finding the agent's name: %w", err)
	}
	if a.opts.enabled(partReporter) {
		if err := reporter.SetupWithManager(mgr, reporter.Options{
			ServerAddress: a.opts.serverAddress,
			TokenFile:     a.opts.tokenFile,
			CAFile:        a.opts.caFile,
			ClusterID:     a.opts.clusterID,
			Interval:      a.opts.reportInterval,
			PodSelector:   a.opts.podSelector,
			Namespaces:    a.opts.namespaces,
			AgentID:       agentID,
			AgentVersion:  version,
		}); err != nil {
			return fmt.Errorf("setting up the reporter: %w", err)
		}
	}
	if a.opts.enabled(partWorker) {
		if err := worker.SetupWithManager(mgr, worker.Options{
			ServerAddress: a.opts.serverAddress,
			TokenFile:     a.opts.tokenFile,
			CAFile:        a.opts.caFile,
			ClusterID:     a.opts.clusterID,
			AgentID:       agentID,
		}); err != nil {
			return fmt.Errorf("setting up the worker: %w", err)
		}
	}
	return nil
}
