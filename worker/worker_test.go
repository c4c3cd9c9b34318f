// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// hands is what a test does to a worker: it sees each call to the server and each
// write to the cluster before it is made and when it has been answered, and may
// end the worker at that moment.
type hands struct {
	*worker
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	// dead: nothing of the worker reaches anyone any more.
	dead bool
	// away: the server does not answer.
	away bool
	// late: a write that was begun reaches the cluster, whatever the worker thinks of
	// it by then.
	late bool
	// before and after are called with the name of a call.
	before, after func(call string) (crash bool)
	calls         []string
}

// startWorker starts a worker on the stage, with short times; its lease is long, so
// that a busy machine costs none.
func (s *stage) startWorker(change ...func(*hands, *Options)) *hands {
	s.Helper()
	nothing := func(string) bool { return false }
	h := &hands{t: s.T, done: make(chan struct{}), before: nothing, after: nothing}
	proxy := httptest.NewServer(http.HandlerFunc(h.serve))
	s.Cleanup(proxy.Close)
	options := Options{
		ServerAddress: proxy.URL, TokenFile: s.tokenFile, AgentID: "agent", Lease: 20 * time.Second,
		PollInterval: 30 * time.Millisecond, Metrics: prometheus.NewRegistry(),
	}
	for _, c := range change {
		c(h, &options)
	}
	log := logr.Discard()
	if testing.Verbose() {
		log = testr.NewWithOptions(s.T, testr.Options{})
	}
	var err error
	if h.worker, err = newWorker(options, log, h.intercept(s.cluster), s.cluster); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	h.cancel = cancel
	go func() {
		defer close(h.done)
		if err := h.Start(ctx); err != nil {
			s.Errorf("the worker ended with %v", err)
		}
	}()
	s.Cleanup(h.stop)
	return h
}

// briefly has a worker's leases run out soon once it is lost.
func briefly(_ *hands, o *Options) { o.Lease = 3 * time.Second }

// stop ends the worker as SIGTERM does.
func (h *hands) stop() {
	h.cancel()
	<-h.done
}

// crash ends it as SIGKILL does: from one moment to the next nothing of it reaches
// anyone.
func (h *hands) crash() {
	h.mu.Lock()
	h.dead = true
	h.mu.Unlock()
	h.cancel()
}

// serverAway has the server not answer, or answer again.
func (h *hands) serverAway(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// made returns the calls that were answered so far.
func (h *hands) made() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.calls...)
}

// pass tells whether a call may be made or an answer may pass.
func (h *hands) pass(hook func(string) bool, call string) bool {
	h.mu.Lock()
	gone := h.dead
	h.mu.Unlock()
	if !gone && hook(call) {
		h.crash()
		return false
	}
	return !gone
}

// serve passes a request on to the server.
func (h *hands) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	away := h.away
	h.mu.Unlock()
	call := operationName(body)
	if away || !h.pass(h.before, call) {
		panic(http.ErrAbortHandler)
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, suite.server.url+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header = r.Header.Clone()
	request.Header.Del("Accept-Encoding") // The test reads the answer too.
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if call == "ClaimTask" && bytes.Contains(answer, []byte(`"claimTask":null`)) {
		call = "ClaimNothing"
	}
	if !h.pass(h.after, call) {
		panic(http.ErrAbortHandler)
	}
	h.mu.Lock()
	h.calls = append(h.calls, call)
	h.mu.Unlock()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer)
}

func operationName(body []byte) string {
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return ""
	}
	request := struct{ OperationName string }{}
	if err := json.NewDecoder(reader).Decode(&request); err != nil {
		return ""
	}
	return request.OperationName
}

// intercept has the writes to the cluster seen.
func (h *hands) intercept(c client.WithWatch) client.WithWatch {
	write := func(call string, do func() error) error {
		if !h.pass(h.before, call) {
			return context.Canceled
		}
		err := do()
		if !h.pass(h.after, call) {
			return context.Canceled
		}
		if err != nil {
			call += ": " + err.Error()
		}
		h.mu.Lock()
		h.calls = append(h.calls, call)
		h.mu.Unlock()
		return err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return write("k8s apply", func() error {
				if h.late {
					ctx = context.WithoutCancel(ctx)
				}
				return c.Apply(ctx, object, opts...)
			})
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return write("k8s create", func() error { return c.Create(ctx, object, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return write("k8s delete", func() error { return c.Delete(ctx, object, opts...) })
		},
	})
}
