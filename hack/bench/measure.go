// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/styrmin/styrmin/hack/podgen/generate"
	"github.com/styrmin/styrmin/test/system"
)

// changeRate is how many statuses change in a second, in the second half.
const changeRate = 100

// The cluster's namespaces and StyrminDeployments, whatever the number of pods.
const (
	namespaces  = 200
	deployments = 100
)

// bench is one size that is measured.
type bench struct {
	*settings
	dir        string
	size       int
	config     *rest.Config
	kubeconfig string
	cluster    *generate.Cluster
	server     *system.System
}

// measureSize measures all contenders on a cluster of that many pods: the
// reporter alone first, then the baselines side by side.
func measureSize(ctx context.Context, s *settings, size int) (results []result, err error) {
	dir, err := os.MkdirTemp("", "styrmin-bench")
	if err != nil {
		return nil, err
	}
	b := &bench{settings: s, dir: dir, size: size}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stop, err := b.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()

	own, err := startContender(ctx, ours, "--kubeconfig", b.kubeconfig, "--target", b.server.ServerURL, "--token-file", b.server.AgentTokenFile)
	if err != nil {
		return nil, err
	}
	defer own.stop()
	b.say("Waiting until the server has every pod")
	if err := poll(ctx, time.Second, 5*time.Minute, func() (bool, error) { return b.hasAll(ctx) }); err != nil {
		return nil, fmt.Errorf("waiting until the server has every pod: %w", err)
	}
	if results, err = b.both(ctx, own); err != nil {
		return nil, err
	}
	own.stop()

	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	var baselines []*process
	for _, name := range []string{informerBaseline, listBaseline} {
		p, err := startContender(ctx, name, "--kubeconfig", b.kubeconfig, "--target", sink.URL)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		baselines = append(baselines, p)
	}
	more, err := b.both(ctx, baselines...)
	return append(results, more...), err
}

// start starts and fills the API server, and starts the server.
func (b *bench) start(ctx context.Context) (_ func() error, err error) {
	env := &envtest.Environment{CRDDirectoryPaths: []string{b.crds}, ErrorIfCRDPathMissing: true}
	if b.config, err = env.Start(); err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, env.Stop())
		}
	}()
	b.kubeconfig = filepath.Join(b.dir, "kubeconfig")
	if err := os.WriteFile(b.kubeconfig, env.KubeConfig, 0o600); err != nil {
		return nil, err
	}
	b.say("Making %d pods", b.size)
	options := generate.Options{Pods: b.size, Namespaces: namespaces, Deployments: deployments}
	if b.cluster, err = generate.New(b.config, options); err != nil {
		return nil, err
	}
	if err := b.cluster.Fill(ctx); err != nil {
		return nil, err
	}
	if b.server, err = system.StartServerOnly(ctx, system.Options{Dir: b.dir, Server: b.settings.server}); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	return func() error { return errors.Join(b.server.Stop(), env.Stop()) }, nil
}

// hasAll tells whether the server has a row for each pod.
func (b *bench) hasAll(ctx context.Context) (bool, error) {
	answer := struct{ Cluster struct{ Pods int } }{}
	err := b.server.Query(ctx, `query($id: ID!) { cluster(id: $id) { pods } }`, map[string]any{"id": b.server.ClusterID}, &answer)
	return answer.Cluster.Pods == b.size, err
}

// both measures contenders while nothing changes and while statuses do.
func (b *bench) both(ctx context.Context, processes ...*process) ([]result, error) {
	for _, p := range processes {
		if err := p.waitCycles(ctx, 2); err != nil {
			return nil, fmt.Errorf("waiting for the first snapshots of %s: %w", p.name, err)
		}
	}
	b.say("Measuring %s while nothing changes", names(processes))
	results, err := measure(ctx, b.window, processes...)
	if err != nil {
		return nil, err
	}
	b.say("Measuring %s at %d changes a second", names(processes), changeRate)
	changing, stop := context.WithCancel(ctx)
	defer stop()
	changed, n, began := make(chan error, 1), 0, time.Now()
	go func() {
		var err error
		n, err = b.cluster.Change(changing, changeRate)
		changed <- err
	}()
	for _, p := range processes {
		if err := p.waitCycles(ctx, 1); err != nil {
			return nil, err
		}
	}
	var delays []time.Duration
	delayed := make(chan error, 1)
	if processes[0].name == ours {
		go func() {
			var err error
			delays, err = b.delays(ctx, b.window)
			delayed <- err
		}()
	} else {
		delayed <- nil
	}
	during, err := measure(ctx, b.window, processes...)
	took := time.Since(began)
	stop()
	if err := errors.Join(err, <-delayed, <-changed); err != nil {
		return nil, err
	}
	for i := range during {
		during[i].Rate, during[i].RateReached = changeRate, float64(n)/took.Seconds()
		during[i].delays(delays)
	}
	results = append(results, during...)
	for i := range results {
		results[i].Pods = b.size
	}
	return results, nil
}

func names(processes []*process) string {
	text := processes[0].name
	for _, p := range processes[1:] {
		text += " and " + p.name
	}
	return text
}

func (b *bench) say(format string, args ...any) {
	fmt.Printf("%s %d pods: %s\n", time.Now().Format(time.TimeOnly), b.size, fmt.Sprintf(format, args...))
}
