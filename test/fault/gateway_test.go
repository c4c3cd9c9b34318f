// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// maxTransit is how long a report may be on its way: the agent's deadline, and a
// little for a busy machine. So much more recent than it is may the server take
// it for.
const maxTransit = 11 * time.Second

// gateway is what stands between the agents and the real server: it sees every
// report, can do harm to it, and checks after each that the server applied that
// what is shown then is true.
type gateway struct {
	*httptest.Server
	t       *testing.T
	backend string
	check   func(*report) []string

	// turn lets one report pass at a time, so that what is checked is what it made.
	turn sync.Mutex

	mu   sync.Mutex
	harm harm // nil: none
	seen []*report
}

// harm answers a report in the server's place, or lets it pass.
type harm func(w http.ResponseWriter, r *http.Request, report *report)

// report is a request of an agent as it came over the wire, and what became of it.
type report struct {
	OperationName half
	Variables     struct {
		Report struct {
			SessionID          string
			Sequence           int64
			ObservedAt, SentAt time.Time
		}
	}
	body   []byte
	header http.Header

	// answer is the server's, nil where it has none.
	answer *answer
	// applied tells that the server has applied it, at that time.
	applied   bool
	appliedAt time.Time
}

type answer struct {
	status int
	header http.Header
	body   []byte
}

func newGateway(t *testing.T, backend string, check func(*report) []string) *gateway {
	t.Helper()
	g := &gateway{t: t, backend: backend, check: check}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // Its agent has gone.
	}
	report, err := readReport(body, r.Header)
	if err != nil {
		g.t.Errorf("A request cannot be read: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	g.mu.Lock()
	harm := g.harm
	g.mu.Unlock()
	if harm == nil {
		harm = g.unharmed
	}
	harm(w, r, report)
	g.mu.Lock()
	g.seen = append(g.seen, report)
	g.mu.Unlock()
}

func readReport(body []byte, header http.Header) (*report, error) {
	text, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	report := &report{body: body, header: header.Clone()}
	return report, json.NewDecoder(text).Decode(report)
}

// unharmed passes a report and its answer.
func (g *gateway) unharmed(w http.ResponseWriter, r *http.Request, report *report) {
	if err := g.pass(r.Context(), report); err != nil {
		http.Error(w, "the gateway gets no answer", http.StatusBadGateway)
		return
	}
	report.answer.write(w, len(report.answer.body))
}

// write writes the first n bytes of an answer.
func (a *answer) write(w http.ResponseWriter, n int) {
	w.Header().Set("Content-Type", a.header.Get("Content-Type"))
	w.Header().Set("Content-Length", fmt.Sprint(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:n])
}

// pass sends a report to the server, and checks what is shown after it.
func (g *gateway) pass(ctx context.Context, report *report) error {
	g.turn.Lock()
	defer g.turn.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.backend+"/graphql", bytes.NewReader(report.body))
	if err != nil {
		return err
	}
	request.Header = report.header.Clone()
	request.Header.Del("Accept-Encoding") // so that the answer comes in plain
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	report.answer = &answer{status: response.StatusCode, header: response.Header, body: body}
	var result struct {
		Data map[string]struct{ Applied bool }
	}
	// What is no such answer has applied nothing.
	_ = json.Unmarshal(body, &result)
	for _, payload := range result.Data {
		report.applied, report.appliedAt = payload.Applied, time.Now()
	}
	if report.applied {
		for _, lie := range g.check(report) {
			g.t.Errorf("After %s %d of session %s: %s", report.OperationName,
				report.Variables.Report.Sequence, report.Variables.Report.SessionID, lie)
		}
	}
	return nil
}

// settle ends the gateway, and sees to it that the server has had what it passes: of
// a report whose agent was gone nobody knows.
func (g *gateway) settle() {
	g.Close()
	for _, report := range g.reports() {
		if report.answer != nil || (report.OperationName != pods && report.OperationName != deployments) {
			continue
		}
		if err := g.pass(g.t.Context(), report); err != nil {
			g.t.Errorf("The server does not answer: %v", err)
		}
	}
}

// between runs f while no report passes.
func (g *gateway) between(f func()) {
	g.turn.Lock()
	defer g.turn.Unlock()
	f()
}

// do lets the harm happen to all reports from now on; nil for none.
func (g *gateway) do(harm harm) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.harm = harm
}

// reports returns all that have come so far.
func (g *gateway) reports() []*report {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]*report(nil), g.seen...)
}

// appliedSince counts the reports of a kind that the server has applied since
// then.
func (g *gateway) appliedSince(half half, since time.Time) int {
	count := 0
	for _, report := range g.reports() {
		if report.OperationName == half && report.applied && report.appliedAt.After(since) {
			count++
		}
	}
	return count
}
