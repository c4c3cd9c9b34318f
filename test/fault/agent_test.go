// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/styrmin/styrmin/reporter"
)

// agent is a manager with a reporter.
type agent struct {
	t        *testing.T
	registry *prometheus.Registry
	log      *logLines
	stop     func()
}

// quick is the interval of reports where the scenario does not need the
// product's own.
const quick = time.Second

// agentOptions are what agents differ in.
type agentOptions struct {
	// interval between reports; 0: the product's default.
	interval time.Duration
	// requestTimeout; 0: the product's default.
	requestTimeout time.Duration
	// namespaces whose pods are reported; none: the scenario's.
	namespaces []string
	// clock; nil: the real one.
	clock clock.Clock
}

// startAgent starts an agent that sees the cluster through config and reports to
// the scenario's server.
func (s *scenario) startAgent(config *rest.Config, options agentOptions) *agent {
	s.t.Helper()
	a := &agent{t: s.t, registry: prometheus.NewRegistry(), log: &logLines{t: s.t}}
	s.t.Cleanup(a.log.end)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 newScheme(s.t),
		Logger:                 a.log.logger(),
		Cache:                  cache.Options{ByObject: reporter.CacheByObject()},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if options.namespaces == nil {
		options.namespaces = []string{s.namespace}
	}
	err = reporter.SetupWithManager(mgr, reporter.Options{
		ServerAddress: s.gateway.URL, TokenFile: s.server.AgentTokenFile,
		AgentID: "agent", AgentVersion: "test", Namespaces: options.namespaces,
		Interval: options.interval, RequestTimeout: options.requestTimeout, Clock: options.clock, Metrics: a.registry,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	a.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			s.t.Errorf("The manager ended with: %v", err)
		}
	})
	s.t.Cleanup(a.stop)
	return a
}

// metric returns the sum of the agent's metric over all series that have these
// label values.
func (a *agent) metric(name string, labels ...string) float64 {
	a.t.Helper()
	families, err := a.registry.Gather()
	if err != nil {
		a.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "styrmin_reporter_"+name {
			continue
		}
		for _, series := range family.GetMetric() {
			matching := 0
			for _, label := range series.GetLabel() {
				if slices.Contains(labels, label.GetValue()) {
					matching++
				}
			}
			if matching == len(labels) {
				sum += series.GetCounter().GetValue() + series.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// logLines keeps what an agent logs, and shows it with the test.
type logLines struct {
	t     *testing.T
	mu    sync.Mutex
	ended bool
	lines []string
}

func (l *logLines) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.ended {
			l.lines = append(l.lines, args)
			l.t.Log(prefix, args)
		}
	}, funcr.Options{LogTimestamp: true})
}

// end drops what comes later: a test that is over takes no lines.
func (l *logLines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// tells says whether a line holds all these pieces.
func (l *logLines) tells(pieces ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line string) bool {
		for _, piece := range pieces {
			if !strings.Contains(line, piece) {
				return false
			}
		}
		return true
	})
}
