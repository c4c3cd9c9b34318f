// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/styrmin/styrmin/reporter"
)

// runReporter runs the product's reporter against the real server.
func runReporter(ctx context.Context, c *contest) error {
	mgr, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme:                 c.scheme,
		Cache:                  cache.Options{ByObject: reporter.CacheByObject()},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	c.count = func() (counters, error) { return countersOf(registry) }
	err = reporter.SetupWithManager(mgr, reporter.Options{
		ServerAddress: c.target, TokenFile: c.tokenFile, AgentID: "bench", AgentVersion: "bench",
		Interval: interval, Metrics: registry,
	})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// countersOf reads the reporter's own metrics.
func countersOf(registry *prometheus.Registry) (counters, error) {
	families, err := registry.Gather()
	if err != nil {
		return counters{}, err
	}
	counted := counters{}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			value := series.GetCounter().GetValue()
			switch {
			case family.GetName() == "styrmin_reporter_reports_total" && has(series.GetLabel(), "pods") && has(series.GetLabel(), "success"):
				counted.Cycles += int(value)
			case family.GetName() == "styrmin_reporter_sent_bytes_total" && has(series.GetLabel(), "raw"):
				counted.RawBytes += value
			case family.GetName() == "styrmin_reporter_sent_bytes_total":
				counted.SentBytes += value
			case family.GetName() == "styrmin_reporter_snapshot_duration_seconds":
				counted.SnapshotSeconds += series.GetHistogram().GetSampleSum()
			}
		}
	}
	return counted, nil
}

// has tells whether one of the labels has that value.
func has[L interface{ GetValue() string }](labels []L, value string) bool {
	return slices.ContainsFunc(labels, func(label L) bool { return label.GetValue() == value })
}
