// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a Kubernetes control plane with simulated kubelets on loopback, or adds what is missing to an
// existing cluster: a chart repository, the Flux API and a controller for it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/hack/localcluster/binaries"
	"github.com/styrmin/styrmin/hack/localcluster/chartrepo"
	"github.com/styrmin/styrmin/hack/localcluster/charts"
)

// Options say what Up runs.
type Options struct {
	// Dir keeps the cluster's state and logs; a second Up finds the objects of the first.
	Dir string
	// Nodes is the number of simulated nodes.
	Nodes int
	// ChartsAddress is the host and port of the chart repository.
	ChartsAddress string
	// Kubeconfig names an existing cluster to use. Empty: a control plane is started.
	Kubeconfig string
	// Flux names real Flux controllers to run instead of ours.
	Flux FluxBinaries
	// Ready gets one line when all is up, Progress tells what is being waited for.
	Ready, Progress io.Writer
}

// shutdownTimeout bounds how long the chart repository waits for its clients.
const shutdownTimeout = time.Second

// Up runs the cluster until the context ends, and then ends all of it in order. Its error says which part failed.
func Up(ctx context.Context, options Options) error {
	l, unlock, err := claim(options.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	picked, err := pickPorts(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = picked.guard.Close() }()
	s := newSupervisor(fail)
	err = start(running, l, picked, options, s, fail)
	if err == nil {
		<-running.Done()
	}
	switch cause := context.Cause(running); {
	case ctx.Err() != nil:
		err = nil // A start that was interrupted is no failure.
	case cause != nil:
		err = cause // What followed from it would only distract.
	}
	_, _ = fmt.Fprintln(options.Progress, "Ending the local cluster")
	if stopErr := s.stop(); stopErr != nil {
		_, _ = fmt.Fprintln(options.Progress, stopErr)
	}
	return err
}

// start brings everything up and says so; it returns when all is ready.
func start(ctx context.Context, l layout, picked ports, options Options, s *supervisor, fail context.CancelCauseFunc) error {
	chartsURL, err := serveCharts(ctx, options.ChartsAddress, fail)
	if err != nil {
		return err
	}
	if options.Kubeconfig != "" {
		kubeconfig, err := filepath.Abs(options.Kubeconfig)
		if err != nil {
			return err
		}
		if err := useCluster(ctx, kubeconfig, l, picked, options, s); err != nil {
			return err
		}
		_, err = fmt.Fprintf(options.Ready, "ready: KUBECONFIG=%s charts=%s\n", kubeconfig, chartsURL)
		return err
	}
	paths, err := startCluster(ctx, l, picked, options, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(options.Ready, "ready: KUBECONFIG=%s charts=%s kubectl=%s\n", l.kubeconfig(), chartsURL, paths[binaries.Kubectl])
	return err
}

// useCluster adds what an existing cluster lacks.
func useCluster(ctx context.Context, kubeconfig string, l layout, picked ports, options Options, s *supervisor) error {
	c, err := clientFor(kubeconfig)
	if err != nil {
		return err
	}
	return startFlux(ctx, c, fluxSetup{layout: l, ports: picked, options: options, kubeconfig: kubeconfig}, s)
}

// startCluster starts a cluster of our own and waits until pods can run and releases can be made on it. It returns where
// its programs are.
func startCluster(ctx context.Context, l layout, picked ports, options Options, s *supervisor) (map[binaries.Binary]string, error) {
	store, err := binaries.Open(ctx, options.Progress)
	if err != nil {
		return nil, err
	}
	paths, err := store.Ensure(ctx, binaries.All()...)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	_, _ = fmt.Fprintln(options.Progress, "Starting the cluster (about 7 seconds)…")
	plane, err := newControlPlane(l, picked, paths)
	if err != nil {
		return nil, err
	}
	if err := plane.startAPIServer(ctx, s); err != nil {
		return nil, err
	}
	c, err := clientFor(l.kubeconfig())
	if err != nil {
		return nil, err
	}
	if err := prepareNodes(ctx, c, options.Nodes); err != nil {
		return nil, err
	}
	if err := s.startTier(plane.controllerManager(), plane.scheduler(), plane.kwok()); err != nil {
		return nil, err
	}
	// The error of the first part that fails ends the wait for the others.
	parts, partsCtx := errgroup.WithContext(ctx)
	parts.Go(func() error { return plane.awaitControllers(partsCtx, c, options.Nodes) })
	parts.Go(func() error {
		return startFlux(partsCtx, c, fluxSetup{layout: l, ports: picked, options: options, kubeconfig: l.config(fluxUser)}, s)
	})
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(options.Progress, "Starting the cluster… done in %s\n", time.Since(started).Round(100*time.Millisecond))
	return paths, nil
}

// serveCharts serves the sample charts until the context ends and returns the repository's URL.
func serveCharts(ctx context.Context, address string, fail context.CancelCauseFunc) (string, error) {
	handler, err := chartrepo.Handler(charts.Files, charts.Versions())
	if err != nil {
		return "", err
	}
	listener, err := listen(ctx, address)
	if err != nil {
		return "", fmt.Errorf("serve the charts (--charts-address takes another address): %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("serve the charts: %w", err))
		}
	}()
	context.AfterFunc(ctx, func() {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(stopCtx)
	})
	return "http://" + listener.Addr().String(), nil
}

func clientFor(kubeconfig string) (client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return newClient(config)
}
