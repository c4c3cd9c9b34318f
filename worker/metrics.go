// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// instruments are the worker's own metrics.
type instruments struct {
	tasks        *prometheus.CounterVec
	running      prometheus.Gauge
	stepSeconds  *prometheus.HistogramVec
	stepFailures *prometheus.CounterVec
	lostLeases   prometheus.Counter
}

func newInstruments(registry prometheus.Registerer) (*instruments, error) {
	const prefix = "styrmin_worker_"
	m := &instruments{
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "flows_total",
			Help: "Flows that this worker has done with, by kind of task and result: ended, failed, interrupted (left to the next worker), lost or refused.",
		}, []string{"kind", "result"}),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "flows", Help: "Flows that run now."}),
		stepSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "step_duration_seconds", Help: "How long steps took, by their work: write, delete, hook or job.",
			Buckets: prometheus.ExponentialBuckets(0.01, 3, 12),
		}, []string{"work"}),
		stepFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "step_failures_total", Help: "Steps that failed, by their work.",
		}, []string{"work"}),
		lostLeases: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "lost_leases_total", Help: "Tasks that have passed to another worker, or were ended, while their flow ran here.",
		}),
	}
	err := errors.Join(registry.Register(m.tasks), registry.Register(m.running), registry.Register(m.stepSeconds),
		registry.Register(m.stepFailures), registry.Register(m.lostLeases))
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return m, nil
}
