// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

const (
	busyClusters = 20
	// busyInterval is five times shorter than that of real agents.
	busyInterval = time.Second
)

// BenchmarkReadWhileClustersReport reads one deployment with its pods and tasks
// while 20 clusters of 10,000 pods each report by changes, all at once. The
// median is what a person waits for.
func BenchmarkReadWhileClustersReport(b *testing.B) {
	onEachDatabase(b, func(s *bench) {
		s.deployment()
		_, viewer, err := s.resolver.Store.CreateToken(s.Context(), "viewer", server.RoleViewer)
		if err != nil {
			s.Fatal(err)
		}
		query, err := json.Marshal(map[string]any{"query": `{ deployment(id: "shop") {
			id name status observed { phase } pods { name status } tasks { id result steps { name status notice } } } }`})
		if err != nil {
			s.Fatal(err)
		}
		clusters := s.otherClusters()
		stop := make(chan struct{})
		var reporting sync.WaitGroup
		for _, cluster := range clusters {
			reporting.Go(func() { cluster.keepReporting(stop) })
		}
		var times []time.Duration
		for s.Loop() {
			started := time.Now()
			s.post(viewer, query)
			times = append(times, time.Since(started))
		}
		close(stop)
		reporting.Wait()
		slices.Sort(times)
		s.ReportMetric(milliseconds(times[len(times)/2]), "median-ms")
	})
}

// deployment reports an object whose pods are those of one namespace.
func (b *bench) deployment() {
	b.Helper()
	target, at := "prod-app-7", time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)
	_, err := b.resolver.Store.ApplyDeploymentReport(b.Context(), server.Identity{Role: server.RoleAdmin}, server.DeploymentReport{
		Header: server.ReportHeader{SessionID: b.session, Sequence: 1, ObservedAt: at, SentAt: at, Complete: true},
		Deployments: []server.DeploymentStatus{{
			UID: "u", Namespace: "styrmin", Name: "shop", DeploymentID: "shop", InstanceID: "i", TargetNamespace: &target,
			Phase: "Ready", DisplayState: "Running",
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) otherClusters() []*bench {
	b.Helper()
	clusters := make([]*bench, busyClusters)
	for i := range clusters {
		other := *b
		other.sequence = 0
		other.prepare(fmt.Sprintf("busy-%d", i))
		other.report(benchReport(0, full))
		clusters[i] = &other
	}
	return clusters
}

// keepReporting reports all clusters at the same moments, as agents do that were
// started together.
func (b *bench) keepReporting(stop <-chan struct{}) {
	ticker := time.NewTicker(busyInterval)
	defer ticker.Stop()
	for state := 1; ; state++ {
		select {
		case <-stop:
			return
		case <-ticker.C:
			b.report(benchReport(state, byChanges))
		}
	}
}
