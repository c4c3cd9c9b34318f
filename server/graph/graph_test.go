// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// api is the handler over a store of its own, with a token of each role.
type api struct {
	*testing.T
	resolver *Resolver
	handler  http.Handler
	clock    *storetest.Clock
	tokens   map[server.Role]string
	cluster  server.Cluster
	log      *bytes.Buffer
}

func newAPI(t *testing.T, url string, options Options) *api {
	t.Helper()
	a := &api{T: t, clock: storetest.NewClock(), log: new(bytes.Buffer)}
	db := storetest.Open(t, url, a.clock)
	a.resolver = &Resolver{
		Store: db, Version: "test", ReportInterval: 5 * time.Second, ReportTimeout: time.Minute, Now: a.clock.Now,
		Log: a.logger(), Metrics: NewMetrics(prometheus.NewRegistry()),
	}
	a.handler = NewHandler(a.resolver, options)
	cluster, agent, err := db.CreateCluster(t.Context(), "c1")
	a.must(err)
	_, viewer, err := db.CreateToken(t.Context(), "viewer", server.RoleViewer)
	a.must(err)
	_, admin, err := db.CreateToken(t.Context(), "admin", server.RoleAdmin)
	a.must(err)
	a.cluster = cluster
	a.tokens = map[server.Role]string{
		server.RoleAgent: agent, server.RoleViewer: viewer, server.RoleAdmin: admin, server.RoleAnonymous: "",
	}
	return a
}

func (a *api) logger() logr.Logger {
	return funcr.New(func(prefix, args string) { a.log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 1})
}

func (a *api) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

type answer struct {
	status int
	header http.Header
	body   string

	Data   map[string]any `json:"data"`
	Errors []struct {
		Message    string
		Path       []any
		Extensions struct{ Code, Field string }
	} `json:"errors"`
}

// code is that of the first error, or empty.
func (r answer) code() string {
	if len(r.Errors) == 0 {
		return ""
	}
	return r.Errors[0].Extensions.Code
}

// send posts a body as it is.
func (a *api) send(role server.Role, body io.Reader, change func(*http.Request)) answer {
	a.Helper()
	request := httptest.NewRequestWithContext(a.Context(), http.MethodPost, "/graphql", body)
	request.Header.Set("Content-Type", "application/json")
	if token := a.tokens[role]; token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if change != nil {
		change(request)
	}
	recorder := httptest.NewRecorder()
	a.handler.ServeHTTP(recorder, request)
	result := answer{status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
	if recorder.Header().Get("Content-Encoding") == "" {
		if err := json.Unmarshal(recorder.Body.Bytes(), &result); err != nil {
			a.Fatalf("the answer is no JSON: %v: %.200s", err, result.body)
		}
	}
	return result
}

// call posts an operation.
func (a *api) call(role server.Role, query string, variables map[string]any) answer {
	a.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	a.must(err)
	return a.send(role, bytes.NewReader(body), nil)
}

// data posts an operation that must succeed.
func (a *api) data(role server.Role, query string, variables map[string]any) map[string]any {
	a.Helper()
	result := a.call(role, query, variables)
	if result.Errors != nil {
		a.Fatalf("%.80s…: %s\n%s", query, result.body, a.log)
	}
	return result.Data
}

// session opens a report session of the cluster.
func (a *api) session(role server.Role) string {
	a.Helper()
	data := a.data(role, `mutation ($c: ID!) { openReportSession(input: {clusterId: $c, clusterUid: "u", agentId: "a", agentVersion: "1"}) { id } }`,
		map[string]any{"c": a.cluster.ID})
	return data["openReportSession"].(map[string]any)["id"].(string)
}

func (a *api) want(what string, want, got any) {
	a.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		a.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantRefused checks code and HTTP status of a request that came to nothing.
func (a *api) wantRefused(got answer, code server.Code, status int) {
	a.Helper()
	if got.code() != string(code) || got.status != status || got.Data != nil {
		a.Errorf("got %d %.300s, want %d %s", got.status, got.body, status, code)
	}
}

// podsWanted counts the pod rows.
func (a *api) podRows() int {
	a.Helper()
	data := a.data(server.RoleAdmin, `{ clusters { pods } }`, nil)
	return int(data["clusters"].([]any)[0].(map[string]any)["pods"].(float64))
}

const reportPods = `mutation ($report: ReportHeader!, $namespaces: [NamespacePodsInput!]!) {
	reportPodStatuses(report: $report, namespaces: $namespaces) { sequence applied upserted deleted resend rejected { namespace name reason } }
}`

func reportVariables(session string, sequence int, pods ...any) map[string]any {
	return map[string]any{
		"report": map[string]any{
			"sessionId": session, "sequence": sequence,
			"observedAt": "2026-11-29T12:00:00Z", "sentAt": "2026-11-29T12:00:00Z",
		},
		"namespaces": []any{map[string]any{"namespace": "a", "digest": "a1", "pods": pods}},
	}
}

func podInput(name string, change func(map[string]any)) map[string]any {
	pod := map[string]any{
		"uid": "uid-" + name, "name": name, "phase": "Running", "status": "Running", "ready": true,
		"readyContainers": 1, "totalContainers": 1, "restarts": 0, "createdAt": "2026-11-29T12:00:00Z", "containers": []any{},
	}
	if change != nil {
		change(pod)
	}
	return pod
}

// hasNoSecret checks that the log holds none of the tokens.
func (a *api) hasNoSecret() {
	a.Helper()
	for role, token := range a.tokens {
		if token != "" && strings.Contains(a.log.String(), token) {
			a.Errorf("the log holds the token of the %s", role)
		}
	}
}
