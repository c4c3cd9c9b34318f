// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestMain ends the PostgreSQL server that tests of this package started.
func TestMain(m *testing.M) { storetest.Main(m) }

func gzipped(t *testing.T, text string) *bytes.Buffer {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := io.WriteString(writer, text); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return &packed
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestR15BadRequestsAreRefusedCasesB07AndC07(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	asGzip := func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }
	text := strings.NewReader
	bomb := gzipped(t, strings.Repeat(" ", maxReportBody+1))
	for name, test := range map[string]struct {
		body   io.Reader
		change func(*http.Request)
		role   server.Role
		code   server.Code
		status int
	}{
		"GET":                     {change: func(r *http.Request) { r.Method = http.MethodGet }, code: server.CodeInvalidInput, status: http.StatusMethodNotAllowed},
		"a form":                  {change: func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, code: server.CodeInvalidInput, status: http.StatusUnsupportedMediaType},
		"no body":                 {body: http.NoBody, code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"HTML":                    {body: text("<html>"), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"a truncated body":        {body: text(`{"query": "{ clus`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"a list of operations":    {body: text(`[{"query": "{ clusters { id } }"}]`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"two JSON values":         {body: text(`{"query": "{ server { version } }"} {}`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"no operation":            {body: text(`{}`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"a subscription":          {body: text(`{"query": "subscription { x }"}`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"a syntax error":          {body: text(`{"query": "{ clusters { id "}`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"an unknown field":        {body: text(`{"query": "{ clusters { secret } }"}`), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"deep JSON":               {body: text(`{"variables": {"x": ` + strings.Repeat("[", 20000)), code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"an unknown encoding":     {change: func(r *http.Request) { r.Header.Set("Content-Encoding", "br") }, code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"no gzip that says so":    {body: text(`{"query": "{ server { version } }"}`), change: asGzip, code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"truncated gzip":          {body: io.LimitReader(gzipped(t, `{"query": "{ server { version } }"}`), 30), change: asGzip, code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"a gzip bomb":             {body: bomb, change: asGzip, role: server.RoleAgent, code: server.CodeTooLarge, status: http.StatusRequestEntityTooLarge},
		"an endless body":         {body: zeros{}, role: server.RoleAgent, code: server.CodeTooLarge, status: http.StatusRequestEntityTooLarge},
		"an endless gzip body":    {body: io.MultiReader(gzipped(t, strings.Repeat("x", 1)), zeros{}), change: asGzip, code: server.CodeInvalidInput, status: http.StatusBadRequest},
		"a viewer's long body":    {body: io.LimitReader(zeros{}, maxBody+1), role: server.RoleViewer, code: server.CodeTooLarge, status: http.StatusRequestEntityTooLarge},
		"a bad header for tokens": {change: func(r *http.Request) { r.Header.Set("Authorization", "Basic YTpi") }, code: server.CodeUnauthenticated, status: http.StatusUnauthorized},
		"a token in disguise":     {change: func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, code: server.CodeUnauthenticated, status: http.StatusUnauthorized},
		"no token":                {role: server.RoleAnonymous, code: server.CodeUnauthenticated, status: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			if test.body == nil {
				test.body = text(`{"query": "{ server { version } }"}`)
			}
			if test.role == "" {
				test.role = server.RoleAdmin
			}
			a.T = t
			a.wantRefused(a.send(test.role, test.body, test.change), test.code, test.status)
		})
	}
}

func TestR15OperationsThatAskForTooMuchAreRefusedCaseC07(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	repeat := func(n int, format string) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, format, i)
		}
		return text.String()
	}
	nested := func(n int, open string) string {
		return strings.Repeat(open, n) + "id" + strings.Repeat(" }", n)
	}
	for name, test := range map[string]struct {
		query string
		code  server.Code
	}{
		"10,000 aliases":       {"{" + repeat(10000, " a%d: podStatuses { uid }") + " }", server.CodeInvalidInput},
		"101 aliases":          {"{" + repeat(101, " a%d: server { version }") + " }", server.CodeTooLarge},
		"a deep query":         {"{ task(id: 1) { steps { " + nested(20, "tasks { steps { ") + strings.Repeat(" }", 23), server.CodeTooLarge},
		"a deep list":          {`{ server(x: ` + strings.Repeat("[", 7000) + strings.Repeat("]", 7000) + `) { version } }`, server.CodeInvalidInput},
		"many fields":          {"{ clusters {" + strings.Repeat(" id", 14_000) + " } }", server.CodeTooLarge},
		"many rows of many":    {`{ deployments { tasks(first: 1000) { steps { tasks { id name: kind } attempts { number } } } } }`, server.CodeTooLarge},
		"a fragment of itself": {"{ ...f } fragment f on Query { server { version } ...f }", server.CodeTooLarge},
		"a fragment that is not used": {
			"{ server { version } } fragment f on Cluster {" + strings.Repeat(" id", 14_000) + " }", server.CodeTooLarge,
		},
		"fragments in series": {"{ ...f0 }" + doubling(30), server.CodeTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			a.T = t
			got := a.call(server.RoleAdmin, test.query, nil)
			if got.code() != string(test.code) || got.Data != nil {
				t.Errorf("got %d %.300s", got.status, got.body)
			}
		})
	}
}

// doubling writes fragments of which each holds the next one twice.
func doubling(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, " fragment f%d on Query { ...f%d ... on Query { ...f%d } }", i, i+1, i+1)
	}
	fmt.Fprintf(&text, " fragment f%d on Query { server { version } }", n)
	return text.String()
}

// introspectionQuery is the query that the usual tools send.
const introspectionQuery = `query IntrospectionQuery { __schema { queryType { name } mutationType { name } subscriptionType { name }
	types { ...FullType } directives { name description locations args { ...InputValue } } } }
fragment FullType on __Type { kind name description fields(includeDeprecated: true) { name description args { ...InputValue }
	type { ...TypeRef } isDeprecated deprecationReason } inputFields { ...InputValue } interfaces { ...TypeRef }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
	ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`

func TestIntrospectionWorksForTheSignedInAlone(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{AllowAnonymousReports: true})
	for _, role := range []server.Role{server.RoleViewer, server.RoleAdmin, server.RoleAgent} {
		if got := a.call(role, introspectionQuery, nil); len(got.Errors) > 0 || !strings.Contains(got.body, "podStatuses") {
			t.Errorf("%s got %.300s", role, got.body)
		}
	}
	a.wantRefused(a.call(server.RoleAnonymous, introspectionQuery, nil), server.CodeUnauthenticated, http.StatusUnauthorized)
}

func TestR15BadValuesAreRefusedAndChangeNothing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		a := newAPI(t, url, Options{})
		session := a.session(server.RoleAgent)
		set := func(key string, value any) func(map[string]any) {
			return func(pod map[string]any) { pod[key] = value }
		}
		for name, change := range map[string]func(map[string]any){
			"no uid at all":              set("uid", nil),
			"a null list":                set("containers", nil),
			"a null in a list":           set("containers", []any{nil}),
			"a list that is none":        set("containers", "x"),
			"a number for a word":        set("phase", 7),
			"a word for a number":        set("restarts", "many"),
			"a number beyond 64 bits":    set("restarts", json.Number("99999999999999999999")),
			"a fraction":                 set("restarts", 1.5),
			"a word for a truth":         set("ready", "yes"),
			"a time that is none":        set("createdAt", "yesterday"),
			"a time without a zone":      set("createdAt", "2026-11-29T12:00:00"),
			"a time as a number":         set("createdAt", 1700000000),
			"a field that is not known":  set("secret", "x"),
			"an unknown container state": set("containers", []any{map[string]any{"name": "c", "kind": "APP", "ready": true, "restarts": 0, "state": "ODD"}}),
		} {
			t.Run(name, func(t *testing.T) {
				b := *a
				b.T = t
				got := b.call(server.RoleAgent, reportPods, reportVariables(session, 1, podInput("good", nil), podInput("bad", change)))
				if got.code() != string(server.CodeInvalidInput) || got.Data != nil {
					t.Errorf("got %d %.300s", got.status, got.body)
				}
				if rows := b.podRows(); rows != 0 {
					t.Errorf("it wrote %d rows", rows)
				}
			})
		}
		a.want("what a good report does after all that", map[string]any{"reportPodStatuses": map[string]any{
			"sequence": 1.0, "applied": true, "upserted": 1.0, "deleted": 0.0, "resend": []any{}, "rejected": []any{},
		}}, a.data(server.RoleAgent, reportPods, reportVariables(session, 1, podInput("good", nil))))
	})
}

func TestR15OddTextAndLargeNumbersAreKept(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		a := newAPI(t, url, Options{})
		session := a.session(server.RoleAgent)
		odd := podInput("odd", func(pod map[string]any) {
			pod["message"] = "boom\x00" + strings.Repeat("世", 10<<20/3)
			pod["phase"] = "Unheard\x00of"
			pod["restarts"] = int64(1) << 40
			pod["createdAt"] = "0000-01-01T00:00:00+01:00"
			pod["startedAt"] = "0001-01-01T00:00:00Z"
			pod["deletionRequestedAt"] = "9999-12-31T23:59:59.999999999-12:00"
		})
		a.data(server.RoleAgent, reportPods, reportVariables(session, 1, odd, podInput("x", nil), podInput("", nil)))
		got := a.data(server.RoleViewer, `{ podStatuses { name phase message restarts createdAt startedAt deletionRequestedAt } }`, nil)
		want := map[string]any{
			"name": "odd", "phase": "Unheardof", "message": "boom" + strings.Repeat("世", 340), "restarts": float64(1 << 40),
			"createdAt": "0001-01-02T00:00:00Z", "startedAt": nil, "deletionRequestedAt": "9999-12-30T00:00:00Z",
		}
		a.want("the odd row", want, got["podStatuses"].([]any)[0])
		a.want("the rows", 2, len(got["podStatuses"].([]any)))
		for _, query := range []string{
			`query ($x: String) { podStatuses(filter: {namespace: $x}) { uid } }`,
			`query ($x: ID) { podStatuses(filter: {deploymentId: $x, clusterId: $x}) { uid } }`,
			`query ($x: ID!) { cluster(id: $x) { id } deployment(id: $x) { id } }`,
			`query ($x: String) { deployments(filter: {name: $x, environment: $x}) { id } }`,
		} {
			a.data(server.RoleViewer, query, map[string]any{"x": "'; DROP TABLE pod_statuses; -- \x00 ?0"})
		}
		a.want("the rows", 2, a.podRows())
	})
}

func TestGzipWorksBothWays(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	body := gzipped(t, `{"query": "{ __schema { types { name fields { name } } } }"}`)
	got := a.send(server.RoleAdmin, body, func(r *http.Request) {
		r.Header.Set("Content-Encoding", "gzip")
		r.Header.Set("Accept-Encoding", "gzip")
	})
	if got.header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("the answer is not packed: %v", got.header)
	}
	reader, err := gzip.NewReader(strings.NewReader(got.body))
	a.must(err)
	text, err := io.ReadAll(reader)
	a.must(err)
	if !strings.Contains(string(text), "PodStatus") {
		t.Errorf("the answer is %.200s", text)
	}
}

// TestR15CaseB05InternalErrorsAreShownWithoutTheirText breaks the database under a
// report: the caller learns that it failed, the log learns why.
func TestR15CaseB05InternalErrorsAreShownWithoutTheirText(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	session := a.session(server.RoleAgent)
	a.must(a.resolver.Store.Close())
	got := a.call(server.RoleAgent, reportPods, reportVariables(session, 1, podInput("x", nil)))
	a.wantRefused(got, server.CodeInternal, http.StatusInternalServerError)
	if strings.Contains(got.body, "closed") || !strings.Contains(a.log.String(), "database is closed") {
		t.Errorf("the answer is %s, the log:\n%s", got.body, a.log)
	}
	a.hasNoSecret()
}

func TestAPanicEndsOneRequestAlone(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	session := a.session(server.RoleAgent)
	a.resolver.Metrics = nil
	got := a.call(server.RoleAgent, reportPods, reportVariables(session, 1, podInput("x", nil)))
	if got.code() != string(server.CodeInternal) || got.Data != nil || strings.Contains(got.body, "nil pointer") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if !strings.Contains(a.log.String(), "nil pointer") {
		t.Errorf("the log does not tell of it:\n%s", a.log)
	}
}

// late is a body before which time goes by: it waits for what reads it.
type late struct {
	io.Reader
	before func()
}

func (l *late) Read(p []byte) (int, error) {
	if l.before != nil {
		l.before()
		l.before = nil
	}
	return l.Reader.Read(p)
}

// TestR3AReportIsReceivedWhenItsRequestBegins: what it waits for after that makes
// what it says no newer.
func TestR3AReportIsReceivedWhenItsRequestBegins(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	began := a.clock.Now()
	session := a.session(server.RoleAgent)
	const reportNone = `mutation ($report: ReportHeader!) {
		pods: reportPodStatuses(report: $report, namespaces: []) { applied }
		deployments: reportDeploymentStatuses(report: $report, deployments: []) { applied }
	}`
	body, err := json.Marshal(map[string]any{"query": reportNone, "variables": reportVariables(session, 1)})
	a.must(err)
	a.send(server.RoleAgent, &late{bytes.NewReader(body), func() { a.clock.Advance(time.Minute) }}, nil)
	a.want("the clusters", map[string]any{"clusters": []any{map[string]any{"lastReportAt": began.Format(time.RFC3339)}}},
		a.data(server.RoleViewer, `{ clusters { lastReportAt } }`, nil))
}
