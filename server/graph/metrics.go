// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/styrmin/styrmin/server"
)

// Metrics counts what the server takes in.
type Metrics struct {
	reports  *prometheus.CounterVec
	duration *prometheus.HistogramVec
	rows     *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		reports: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "styrmin_server_reports_total",
			Help: "Reports by kind and result: applied, outdated, or the code of the refusal.",
		}, []string{"kind", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "styrmin_server_report_ingest_seconds",
			Help:    "How long it took to apply a report, by kind.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11),
		}, []string{"kind"}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "styrmin_server_report_rows_total",
			Help: "Rows by kind and what a report did: upserted, deleted, rejected, or asked for again (namespaces, for pods).",
		}, []string{"kind", "action"}),
	}
	registry.MustRegister(m.reports, m.duration, m.rows)
	return m
}

type reportCounts struct {
	applied                             bool
	upserted, deleted, rejected, resend int
}

func (m *Metrics) report(kind server.ReportKind, elapsed time.Duration, err error, counts reportCounts) {
	result := "applied"
	switch {
	case err != nil:
		result = string(server.CodeOf(err))
	case !counts.applied:
		result = "outdated"
	}
	m.reports.WithLabelValues(string(kind), result).Inc()
	m.duration.WithLabelValues(string(kind)).Observe(elapsed.Seconds())
	for action, n := range map[string]int{
		"upserted": counts.upserted, "deleted": counts.deleted, "rejected": counts.rejected, "resend": counts.resend,
	} {
		m.rows.WithLabelValues(string(kind), action).Add(float64(n))
	}
}
