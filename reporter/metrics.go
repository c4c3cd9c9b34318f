// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// instruments are the reporter's own metrics (P9).
type instruments struct {
	reports      *prometheus.CounterVec
	duration     *prometheus.HistogramVec
	objects      *prometheus.GaugeVec
	bytes        *prometheus.CounterVec
	lastSuccess  *prometheus.GaugeVec
	proven       *prometheus.GaugeVec
	proofs       *prometheus.CounterVec
	liveLists    *prometheus.CounterVec
	unread       *prometheus.CounterVec
	rejected     *prometheus.CounterVec
	superseded   prometheus.Gauge
	snapshotTime prometheus.Histogram
}

// newInstruments makes the metrics and registers them. Where a reporter before this
// one has registered them already, its are used on.
func newInstruments(registry prometheus.Registerer) (*instruments, error) {
	const prefix = "styrmin_reporter_"
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
	}
	m := &instruments{
		reports: counter("reports_total", "Reports, and openings of sessions, by kind and result: success, behind (taken, but the server "+
			"does not have the whole state yet), refused, timeout or error.", "kind", "result"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "report_duration_seconds", Help: "How long sending a report took, until the server's answer.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 12),
		}, []string{"kind"}),
		objects:     gauge("objects", "Objects of the newest snapshot.", "kind"),
		bytes:       counter("sent_bytes_total", "Bytes of request bodies by operation, before (raw) and after (gzip) compression.", "operation", "encoding"),
		lastSuccess: gauge("last_success_timestamp_seconds", "When the server last took a report.", "kind"),
		proven:      gauge("proven_timestamp_seconds", "Up to when the data of the newest snapshot is proven current.", "kind"),
		proofs:      counter("proofs_total", "Proofs that an informer is current, by result: proven, or why not.", "kind", "result"),
		liveLists:   counter("live_lists_total", "Lists straight from the API server, in place of an informer that is not proven current.", "kind", "result"),
		unread:      counter("unread_total", "Snapshots without a kind, because its objects could not be read or not be proven current.", "kind"),
		rejected:    counter("rejected_rows_total", "Rows that the server could not store.", "kind"),
		superseded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "superseded", Help: "1 when another agent has taken over reporting this cluster, and this one has stopped for good.",
		}),
		snapshotTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "snapshot_duration_seconds", Help: "How long making a snapshot took, without sending it.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	err := errors.Join(
		register(registry, &m.reports), register(registry, &m.duration), register(registry, &m.objects),
		register(registry, &m.bytes), register(registry, &m.lastSuccess), register(registry, &m.proven), register(registry, &m.proofs),
		register(registry, &m.liveLists), register(registry, &m.unread), register(registry, &m.rejected),
		register(registry, &m.superseded), register(registry, &m.snapshotTime),
	)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return m, nil
}

// register registers the collector, or replaces it by the one that is
// registered under its name.
func register[T prometheus.Collector](registry prometheus.Registerer, collector *T) error {
	err := registry.Register(*collector)
	var already prometheus.AlreadyRegisteredError
	if !errors.As(err, &already) {
		return err
	}
	existing, ok := already.ExistingCollector.(T)
	if !ok {
		return err
	}
	*collector = existing
	return nil
}
