// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestMain ends the PostgreSQL server that tests of this package started.
func TestMain(m *testing.M) { storetest.Main(m) }

// running is a server that runs until its test ends.
type running struct {
	t       *testing.T
	program *Program
	token   string
	// stop ends the server and returns how it ended.
	stop func() error
	// log returns what was logged so far.
	log func() []byte
}

// startServer starts the whole program on free ports of the loopback interface.
func startServer(t *testing.T, dir string, change func(*Options)) *running {
	t.Helper()
	options := Options{
		Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0",
		Database:       "sqlite:" + filepath.Join(dir, "styrmin.db"),
		AdminTokenFile: filepath.Join(dir, "admin.token"),
		ReportTimeout:  time.Minute, Version: "test",
	}
	if change != nil {
		change(&options)
	}
	var mu sync.Mutex
	var lines bytes.Buffer
	logger := funcr.NewJSON(func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines.WriteString(line + "\n")
	}, funcr.Options{Verbosity: 1})
	program, err := New(t.Context(), options, logger, io.Discard)
	if err != nil {
		t.Fatalf("starting: %v", err)
	}
	r := &running{t: t, program: program, log: func() []byte {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Clone(lines.Bytes())
	}}
	if options.AdminTokenFile != "" {
		text, err := os.ReadFile(options.AdminTokenFile)
		if err != nil {
			t.Fatal(err)
		}
		r.token = strings.TrimSpace(string(text))
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- program.Run(ctx) }()
	stopped := false
	r.stop = func() error {
		stopped = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if stopped {
			return
		}
		if err := r.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return r
}

// call posts an operation and returns its data; it fails the test on errors.
func (r *running) call(token, query string, variables map[string]any) map[string]any {
	r.t.Helper()
	answer := r.post(token, query, variables)
	if answer.Errors != nil {
		r.t.Fatalf("%.80s…: %v", query, answer.Errors)
	}
	return answer.Data
}

type answer struct {
	Data   map[string]any   `json:"data"`
	Errors []map[string]any `json:"errors"`
}

func (r *running) post(token, query string, variables map[string]any) answer {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		r.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost,
		"http://"+r.program.Address()+"/graphql", bytes.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	var result answer
	if err := json.Unmarshal([]byte(r.do(request)), &result); err != nil {
		r.t.Fatal(err)
	}
	return result
}

func (r *running) get(url string) string {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(request)
}

func (r *running) do(request *http.Request) string {
	r.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

const (
	openSession = `mutation ($input: OpenReportSessionInput!) { openReportSession(input: $input) { id clusterId intervalSeconds } }`
	reportPods  = `mutation ($report: ReportHeader!, $namespaces: [NamespacePodsInput!]!) {
		reportPodStatuses(report: $report, namespaces: $namespaces) { sequence applied upserted deleted resend rejected { name } }
	}`
	reportDeployments = `mutation ($report: ReportHeader!, $deployments: [DeploymentStatusInput!]) {
		reportDeploymentStatuses(report: $report, digest: "d", deployments: $deployments) { sequence applied upserted deleted resend rejected { name } }
	}`
)

func header(session string, sequence int) map[string]any {
	return map[string]any{
		"sessionId": session, "sequence": sequence,
		"observedAt": "2026-11-29T16:40:05Z", "sentAt": "2026-11-29T16:40:06Z",
	}
}

func pod(name string, ready bool) map[string]any {
	return map[string]any{
		"uid": "uid-" + name, "name": name, "phase": "Running", "status": "Running",
		"ready": ready, "readyContainers": 1, "totalContainers": 1, "restarts": 0,
		"createdAt": "2026-11-29T16:00:00Z",
		"containers": []any{map[string]any{
			"name": "server", "kind": "APP", "ready": ready, "restarts": 0, "state": "RUNNING", "startedAt": "2026-11-29T16:00:02Z",
		}},
	}
}

func shop(displayState string) map[string]any {
	return map[string]any{
		"uid": "uid-shop", "namespace": "styrmin", "name": "shop", "deploymentId": "uid-shop", "instanceId": "shop-1",
		"generation": 1, "observedGeneration": 1, "targetNamespace": "prod-shop",
		"phase": "Ready", "displayState": displayState, "conditions": []any{},
	}
}

// TestReportedStateIsAnswered walks the main path: a cluster is made, its agent
// opens a session and reports both halves of two snapshots, and a reader sees
// what was reported, also from a server that was started anew in between.
func TestReportedStateIsAnswered(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	created := s.call(s.token, `mutation { createCluster(input: {name: "demo"}) { agentToken cluster { id } } }`, nil)
	agent := created["createCluster"].(map[string]any)["agentToken"].(string)
	opened := s.call(agent, openSession, map[string]any{
		"input": map[string]any{"clusterUid": "kube-uid", "agentId": "agent-0", "agentVersion": "1"},
	})
	session := opened["openReportSession"].(map[string]any)["id"].(string)

	got := s.call(agent, reportPods, map[string]any{
		"report": header(session, 1),
		"namespaces": []any{map[string]any{
			"namespace": "prod-shop", "digest": "n1", "pods": []any{pod("a", true), pod("b", false)},
		}},
	})
	wantResult(t, got["reportPodStatuses"], 2, 0)
	got = s.call(agent, reportDeployments, map[string]any{
		"report": header(session, 1), "deployments": []any{shop("Running")},
	})
	result := got["reportDeploymentStatuses"].(map[string]any)
	if result["applied"] != true || result["resend"] != false || result["upserted"] != 1.0 {
		t.Errorf("the deployments were not applied: %v", result)
	}

	if err := s.stop(); err != nil {
		t.Fatalf("stopping: %v", err)
	}
	s = startServer(t, dir, nil)
	got = s.call(agent, reportPods, map[string]any{
		"report": header(session, 2),
		"namespaces": []any{map[string]any{
			"namespace": "prod-shop", "digest": "n2", "base": "n1", "gone": []any{"uid-b"}, "pods": []any{pod("c", true)},
		}},
	})
	wantResult(t, got["reportPodStatuses"], 1, 1)

	seen := s.call(s.token, `{
		podStatuses(filter: {deploymentId: "uid-shop"}) { name ready containers { name state startedAt } }
		deploymentStatuses { namespace name phase displayState }
		deployments { id name managedBy status pods { name } observed { phase } }
		clusters { name uid agentId dataAgeSeconds pods deployments }
	}`, nil)
	container := []any{map[string]any{"name": "server", "state": "RUNNING", "startedAt": "2026-11-29T16:00:02Z"}}
	want := map[string]any{
		"podStatuses": []any{
			map[string]any{"name": "a", "ready": true, "containers": container},
			map[string]any{"name": "c", "ready": true, "containers": container},
		},
		"deploymentStatuses": []any{map[string]any{
			"namespace": "styrmin", "name": "shop", "phase": "Ready", "displayState": "Running",
		}},
		"deployments": []any{map[string]any{
			"id": "uid-shop", "name": "shop", "managedBy": "CLUSTER", "status": "RUNNING",
			"pods": []any{map[string]any{"name": "a"}, map[string]any{"name": "c"}}, "observed": map[string]any{"phase": "Ready"},
		}},
		"clusters": []any{map[string]any{
			"name": "demo", "uid": "kube-uid", "agentId": "agent-0", "dataAgeSeconds": 1.0, "pods": 2.0, "deployments": 1.0,
		}},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("what a reader sees (-want +got):\n%s", diff)
	}
}

func wantResult(t *testing.T, result any, upserted, deleted float64) {
	t.Helper()
	want := map[string]any{"applied": true, "upserted": upserted, "deleted": deleted, "resend": []any{}, "rejected": []any{}}
	got := result.(map[string]any)
	delete(got, "sequence")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answer to the report (-want +got):\n%s", diff)
	}
}

func TestProbesAndMetricsAnswer(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	s.call(s.token, `mutation { createCluster(input: {name: "demo"}) { agentToken } }`, nil)
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := s.get("http://" + s.program.Address() + path); got != "ok\n" {
			t.Errorf("%s answers %q", path, got)
		}
	}
	if got := s.get("http://" + s.program.Address() + "/"); !strings.Contains(got, "<h1>Sign in</h1>") {
		t.Errorf("/ does not lead to the page: %q", got)
	}
	metrics := s.get("http://" + s.program.MetricsAddress() + "/metrics")
	for _, name := range []string{`styrmin_server_cluster_pods{cluster="demo"} 0`, "styrmin_server_database_seconds_bucket", "go_goroutines"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
}

// TestMetricsTellWhatTheServerTakesIn scrapes a server that took a report with a
// bad row, was sent it again, refused one, and has a task that waits.
func TestMetricsTellWhatTheServerTakesIn(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	created := s.call(s.token, `mutation { createCluster(input: {name: "demo"}) { agentToken cluster { id } } }`, nil)["createCluster"].(map[string]any)
	agent := created["agentToken"].(string)
	opened := s.call(agent, openSession, map[string]any{"input": map[string]any{"clusterUid": "u", "agentId": "a", "agentVersion": "1"}})
	session := opened["openReportSession"].(map[string]any)["id"].(string)
	send := func(session string, sequence int, pods ...any) {
		s.post(agent, reportPods, map[string]any{
			"report": header(session, sequence), "namespaces": []any{map[string]any{"namespace": "n", "digest": fmt.Sprint(sequence), "pods": pods}},
		})
	}
	send(session, 1, pod("a", true), pod("b", true), pod("", true))
	send(session, 1, pod("a", true))
	send("none", 2)
	send(session, 3, pod("b", true))
	s.call(agent, reportDeployments, map[string]any{"report": header(session, 1), "deployments": []any{shop("Running")}})
	s.call(s.token, `mutation ($c: ID!) { createDeployment(input: {name: "blog", environment: "prod", clusterId: $c, spec: {
		helmRelease: {releaseName: "blog", chart: {repository: "oci://charts", name: "blog", version: "1"}}}}) { id } }`,
		map[string]any{"c": created["cluster"].(map[string]any)["id"]})
	metrics := s.get("http://" + s.program.MetricsAddress() + "/metrics")
	for _, want := range []string{
		`styrmin_server_reports_total{kind="pods",result="applied"} 2`,
		`styrmin_server_reports_total{kind="pods",result="outdated"} 1`,
		`styrmin_server_reports_total{kind="pods",result="SESSION_UNKNOWN"} 1`,
		`styrmin_server_reports_total{kind="deployments",result="applied"} 1`,
		`styrmin_server_report_ingest_seconds_count{kind="pods"} 4`,
		`styrmin_server_report_rows_total{action="upserted",kind="pods"} 2`,
		`styrmin_server_report_rows_total{action="deleted",kind="pods"} 1`,
		`styrmin_server_report_rows_total{action="rejected",kind="pods"} 1`,
		`styrmin_server_report_rows_total{action="upserted",kind="deployments"} 1`,
		`styrmin_server_cluster_last_report_age_seconds{cluster="demo"} `,
		`styrmin_server_cluster_data_age_seconds{cluster="demo"} `,
		`styrmin_server_cluster_pods{cluster="demo"} 1`,
		`styrmin_server_cluster_deployments{cluster="demo"} 1`,
		`styrmin_server_tasks{kind="CREATE",result="RUNNING"} 1`,
		`styrmin_server_oldest_running_step_seconds{kind="OPERATOR_PHASE"} 0`,
		`styrmin_server_database_seconds_count{result="ok",use_case="apply pod report"} 3`,
		`styrmin_server_database_seconds_count{result="refused",use_case="cluster of session"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, "styrmin_") && !strings.Contains(line, "_bucket") {
				t.Log(line)
			}
		}
	}
}

func TestWithoutATokenNothingIsAnswered(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	for name, token := range map[string]string{"no token": "", "an unknown token": "styrmin_unknown"} {
		t.Run(name, func(t *testing.T) {
			answer := s.post(token, `{ clusters { id } }`, nil)
			if len(answer.Errors) != 1 || answer.Data != nil {
				t.Fatalf("got %v", answer)
			}
			if code := answer.Errors[0]["extensions"].(map[string]any)["code"]; code != "UNAUTHENTICATED" {
				t.Errorf("the code is %v", code)
			}
		})
	}
}
