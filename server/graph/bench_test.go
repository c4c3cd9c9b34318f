// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// The cluster of the benchmarks.
const (
	benchNamespaces = 100
	benchPods       = 100 // in each namespace
)

// bench is a server with one reporting cluster.
type bench struct {
	*testing.B
	handler  http.Handler
	resolver *Resolver
	agent    string
	session  string
	sequence int
}

// onEachDatabase runs a benchmark on each database, in a cluster whose pods are
// reported already.
func onEachDatabase(b *testing.B, run func(*bench)) {
	for name, open := range map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			clock := storetest.NewClock()
			s := &bench{B: b, resolver: &Resolver{
				Store: storetest.Open(b, open(b), clock), Version: "test", ReportInterval: 5 * time.Second,
				ReportTimeout: time.Minute, Now: clock.Now, Log: logr.Discard(), Metrics: NewMetrics(prometheus.NewRegistry()),
			}}
			s.handler = NewHandler(s.resolver, Options{})
			s.prepare("c1")
			s.report(benchReport(0, full))
			run(s)
		})
	}
}

// prepare makes the cluster and opens its session.
func (b *bench) prepare(name string) {
	b.Helper()
	cluster, agent, err := b.resolver.Store.CreateCluster(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	session, err := b.resolver.Store.OpenSession(b.Context(), server.Identity{Role: server.RoleAdmin},
		server.OpenSession{ClusterID: cluster.ID, ClusterUID: "uid-" + name})
	if err != nil {
		b.Fatal(err)
	}
	b.agent, b.session = agent, session.ID
}

// post sends an operation that must succeed and returns the answer.
func (b *bench) post(token string, body []byte) []byte {
	b.Helper()
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/graphql", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	recorder := httptest.NewRecorder()
	b.handler.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK || bytes.Contains(recorder.Body.Bytes(), []byte(`"errors"`)) ||
		bytes.Contains(recorder.Body.Bytes(), []byte(`"resend":["`)) {
		b.Errorf("got %d %.500s", recorder.Code, recorder.Body)
	}
	return recorder.Body.Bytes()
}

// body encodes a report of the namespaces under the next sequence.
func (b *bench) body(namespaces []any) []byte {
	b.Helper()
	b.sequence++
	text, err := json.Marshal(map[string]any{"query": reportPods, "variables": map[string]any{
		"report": map[string]any{
			"sessionId": b.session, "sequence": b.sequence,
			"observedAt": "2026-11-29T12:00:00Z", "sentAt": "2026-11-29T12:00:00Z",
		},
		"namespaces": namespaces,
	}})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func (b *bench) report(namespaces []any) { b.post(b.agent, b.body(namespaces)) }

// The ways to send a namespace.
const (
	full = iota
	byChanges
	byDigest
)

// benchReport is the cluster in its n-th state: in each state one other pod of
// each namespace, 1 % of all, has restarted once more.
func benchReport(n, how int) []any {
	namespaces := make([]any, benchNamespaces)
	for i := range namespaces {
		namespace := map[string]any{"namespace": fmt.Sprintf("prod-app-%d", i), "digest": fmt.Sprintf("digest-%d-%d", i, n)}
		switch how {
		case full:
			pods := make([]any, benchPods)
			for j := range pods {
				pods[j] = benchPod(i, j, restartsIn(n, j))
			}
			namespace["pods"] = pods
		case byChanges:
			changed := n % benchPods
			namespace["base"] = fmt.Sprintf("digest-%d-%d", i, n-1)
			namespace["pods"] = []any{benchPod(i, changed, restartsIn(n, changed))}
			namespace["gone"] = []any{}
		}
		namespaces[i] = namespace
	}
	return namespaces
}

// restartsIn counts how often the pod was the changed one up to state n.
func restartsIn(n, pod int) int {
	restarts := n / benchPods
	if 0 < pod && pod <= n%benchPods {
		restarts++
	}
	return restarts
}

func benchPod(namespace, pod, restarts int) any {
	name := fmt.Sprintf("app-%d-server-7d9c5b8f6d-%05d", namespace, pod)
	return map[string]any{
		"uid": fmt.Sprintf("6f1c0f3e-5b0a-4c53-9d7b-%06d%06d", namespace, pod), "name": name,
		"node": fmt.Sprintf("node-%d.example.com", pod%50), "phase": "Running", "status": "Running", "ready": true,
		"readyContainers": 2, "totalContainers": 2, "restarts": restarts, "createdAt": "2026-11-29T10:00:00Z",
		"startedAt": "2026-11-29T10:00:01Z", "ownerKind": "ReplicaSet", "ownerName": "app-server-7d9c5b8f6d", "component": "server",
		"containers": []any{benchContainer("server", restarts), benchContainer("proxy", 0)},
	}
}

func benchContainer(name string, restarts int) any {
	return map[string]any{
		"name": name, "kind": "APP", "image": "registry.example.com/shop/" + name + ":2.4.1", "ready": true,
		"restarts": restarts, "state": "RUNNING", "startedAt": "2026-11-29T10:00:05Z",
	}
}

// written is how many rows a report wrote, as its answer says.
func (b *bench) written(body []byte) int {
	b.Helper()
	var got struct {
		Data struct {
			ReportPodStatuses struct{ Upserted, Deleted int }
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		b.Fatal(err)
	}
	return got.Data.ReportPodStatuses.Upserted + got.Data.ReportPodStatuses.Deleted
}

// measure runs the reports and tells the CPU time that each took in this
// process, the database's own included where it is part of it, and the rows that
// each wrote.
func (b *bench) measure(how int) {
	state, rows := 0, 0
	var cpu time.Duration
	for b.Loop() {
		b.StopTimer()
		if how != byDigest {
			state++
		}
		body := b.body(benchReport(state, how))
		b.StartTimer()
		before := cpuTime()
		answer := b.post(b.agent, body)
		cpu += cpuTime() - before
		b.StopTimer()
		rows += b.written(answer)
		b.StartTimer()
	}
	b.ReportMetric(milliseconds(cpu)/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(rows)/float64(b.N), "rows/op")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkReportByChanges: 10,000 pods of which 1 % changed, as changes.
func BenchmarkReportByChanges(b *testing.B) {
	onEachDatabase(b, func(s *bench) { s.measure(byChanges) })
}

// BenchmarkReportInFull: 10,000 pods of which 1 % changed, all of them sent.
func BenchmarkReportInFull(b *testing.B) {
	onEachDatabase(b, func(s *bench) { s.measure(full) })
}

// BenchmarkReportByDigest: 10,000 pods of which none changed.
func BenchmarkReportByDigest(b *testing.B) {
	onEachDatabase(b, func(s *bench) { s.measure(byDigest) })
}

// BenchmarkFirstReport: 10,000 pods that the server has never seen.
func BenchmarkFirstReport(b *testing.B) {
	onEachDatabase(b, func(s *bench) {
		var cpu time.Duration
		for s.Loop() {
			s.StopTimer()
			s.report([]any{})
			body := s.body(benchReport(0, full))
			s.StartTimer()
			before := cpuTime()
			s.post(s.agent, body)
			cpu += cpuTime() - before
		}
		s.ReportMetric(milliseconds(cpu)/float64(s.N), "cpu-ms/op")
	})
}
