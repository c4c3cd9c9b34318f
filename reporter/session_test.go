// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"

	"github.com/styrmin/styrmin/internal/serverclient"
)

func refuse(operation, code string) func(http.ResponseWriter, *http.Request, *modelRequest) bool {
	return func(w http.ResponseWriter, _ *http.Request, request *modelRequest) bool {
		if request.OperationName != operation {
			return false
		}
		writeRefusal(w, code)
		return true
	}
}

func TestP4AnUnknownSessionIsReplacedAtOnceAndEverythingTravelsAnew(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-0")}
	l := newLoop(h.reporter)
	mustCycle(t, l)

	// The server has lost its database.
	h.server.change(func() {
		h.server.session = ""
		clear(h.server.namespaces)
	})
	h.server.received()
	err := l.cycle(t.Context())
	if got := l.wait(err, 0); got != 0 {
		t.Errorf("After %v it waits %s, want none", err, got)
	}
	mustCycle(t, l)
	want := []string{"ReportPodStatuses", "OpenReportSession", "ReportPodStatuses", "ReportDeploymentStatuses"}
	if diff := cmp.Diff(want, operations(h.server.received())); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"prod-shop/shop-0"}, h.server.podNames()); diff != "" {
		t.Errorf("stored pods (-want +got):\n%s", diff)
	}
}

func TestP4AServerThatNeverKnowsTheSessionIsNotAskedWithoutPause(t *testing.T) {
	h := newHarness(t)
	h.server.intercept = refuse("ReportPodStatuses", codeSessionUnknown)
	l := newLoop(h.reporter)
	for range 3 {
		err := l.cycle(t.Context())
		if !serverclient.IsRefused(err, codeSessionUnknown) {
			t.Fatalf("error = %v", err)
		}
		if got := l.wait(err, 0); got == 0 {
			t.Error("It does not wait")
		}
	}
}

func TestP4AnotherClusterIsRetriedSlowly(t *testing.T) {
	h := newHarness(t)
	h.server.intercept = refuse("OpenReportSession", codeClusterMismatch)
	l := newLoop(h.reporter)
	err := l.cycle(t.Context())
	if !serverclient.IsRefused(err, codeClusterMismatch) {
		t.Fatalf("error = %v", err)
	}
	if got := l.wait(err, 0); got < mismatchBackoff {
		t.Errorf("It waits %s", got)
	}
	if got := l.wait(nil, 0); got > 6*time.Second {
		t.Errorf("After it is mended it waits %s", got)
	}
}

// TestP4AnotherClusterIsLoud: each try is an error in the log, with the code to look
// up and the server's own words, which say what to do.
func TestP4AnotherClusterIsLoud(t *testing.T) {
	h := newHarness(t)
	var failures []string
	h.log = funcr.New(func(_, line string) {
		if strings.Contains(line, `"error"=`) {
			failures = append(failures, line)
		}
	}, funcr.Options{})
	h.server.intercept = refuse("OpenReportSession", "CLUSTER_MISMATCH")
	l := newLoop(h.reporter)
	for i := range 3 {
		h.fakeClock.Step(l.wait(l.cycle(t.Context()), 0))
		if len(failures) != i+1 {
			t.Fatalf("After %d tries the log has %d errors: %q", i+1, len(failures), failures)
		}
		for _, want := range []string{"opening a report session", "CLUSTER_MISMATCH", "refused by the test"} {
			if !strings.Contains(failures[i], want) {
				t.Errorf("The log does not say %q: %s", want, failures[i])
			}
		}
	}
}

func TestP4TheClustersUIDOpensTheSession(t *testing.T) {
	h := newHarness(t)
	mustCycle(t, newLoop(h.reporter))
	opened := h.server.received()[0].Variables.Input
	want := &OpenReportSessionInput{ClusterUid: "cluster-uid", AgentId: "agent-0", AgentVersion: "v1"}
	if diff := cmp.Diff(want, opened); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
}

// TestP4ASupersededReporterStopsForGood is case B08 seen from the agent that
// was there first, and case H04: whoever lost the session sends nothing more.
func TestP4ASupersededReporterStopsForGood(t *testing.T) {
	for name, operation := range map[string]string{
		"told on the pods' half":        "ReportPodStatuses",
		"told on the deployments' half": "ReportDeploymentStatuses",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			running := start(t, h)
			running.cycles(t, 1)
			h.server.change(func() { h.server.intercept = refuse(operation, codeSessionSuperseded) })
			h.fakeClock.Step(6 * time.Second)
			eventually(t, "it is not ready, and says so", func() bool {
				return h.health.check(nil) != nil && testutil.ToFloat64(h.metrics.superseded) == 1
			})

			h.server.received()
			h.fakeClock.Step(24 * time.Hour)
			if h.fakeClock.HasWaiters() {
				t.Error("It waits for another cycle")
			}
			if got := operations(h.server.received()); len(got) != 0 {
				t.Errorf("It still sends %v", got)
			}
			running.stop(t)
			if err := h.health.check(nil); err == nil || !strings.Contains(err.Error(), "another agent") {
				t.Errorf("It must stay unready, and say why: %v", err)
			}
		})
	}
}

// TestP4ASessionOfItsOwnThatWasOpenedLateDoesNotStopTheReporter: the answer to an
// opening was lost, and something in between kept the request.
func TestP4ASessionOfItsOwnThatWasOpenedLateDoesNotStopTheReporter(t *testing.T) {
	for name, tc := range map[string]struct {
		lost      http.HandlerFunc
		late      time.Duration
		interval  int // in seconds, where the server asks for one
		wantTaken bool
	}{
		"it may be its own":                            {lost: noAnswer, late: maxLateOpening},
		"it may be, and is noticed late":               {lost: noAnswer, late: maxLateOpening + time.Minute, interval: 60},
		"it is too late for that":                      {lost: noAnswer, late: maxLateOpening + 6*time.Second, wantTaken: true},
		"the server had said why it did not open it":   {lost: func(w http.ResponseWriter, _ *http.Request) { writeRefusal(w, codeClusterMismatch) }, wantTaken: true},
		"the server was not there when it was to open": {wantTaken: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.server.intervalSeconds = tc.interval
			h.server.intercept = func(w http.ResponseWriter, r *http.Request, _ *modelRequest) bool {
				tc.lost(w, r)
				return true
			}
			reached := h.client
			if tc.lost == nil {
				h.client = unreachable(t)
			}
			l := newLoop(h.reporter)
			if err := l.cycle(t.Context()); err == nil {
				t.Fatal("The session is opened")
			}
			h.client = reached
			h.server.change(func() { h.server.intercept = nil })
			mustCycle(t, l)
			h.fakeClock.Step(tc.late)
			take := func() error {
				h.server.change(func() { h.server.session = "another" })
				return l.cycle(t.Context())
			}
			err := take()
			if got := l.isSuperseded(err); got != tc.wantTaken {
				t.Fatalf("superseded = %t, want %t: %v", got, tc.wantTaken, err)
			}
			if tc.wantTaken {
				return
			}
			if got := l.wait(err, 0); got == 0 {
				t.Error("It does not wait")
			}
			mustCycle(t, l)
			// Only once: the next time it is another agent.
			if err := take(); !l.isSuperseded(err) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// TestP4WithoutASessionNothingIsSuperseded: such an answer to an opening, whoever gives
// it, is a failure like others.
func TestP4WithoutASessionNothingIsSuperseded(t *testing.T) {
	h := newHarness(t)
	h.server.intercept = func(w http.ResponseWriter, r *http.Request, _ *modelRequest) bool {
		noAnswer(w, r)
		return true
	}
	l := newLoop(h.reporter)
	for range 2 {
		err := l.cycle(t.Context())
		if err == nil || l.isSuperseded(err) {
			t.Fatalf("superseded by %v", err)
		}
		h.server.change(func() { h.server.intercept = refuse("OpenReportSession", codeSessionSuperseded) })
	}
	h.server.change(func() { h.server.intercept = nil })
	mustCycle(t, l)
}

func noAnswer(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }

// unreachable returns a client of a server that is not there.
func unreachable(t *testing.T) serverConnection {
	t.Helper()
	client, err := serverclient.New(nowhere(), "", "", defaultRequestTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// nowhere returns the address of a server that is not there.
func nowhere() string {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	return gone.URL
}

func TestP1StartBlocksUntilTheManagerEndsAndLeavesNothingBehind(t *testing.T) {
	h := newHarness(t)
	if !h.NeedLeaderElection() {
		t.Error("It would run on every replica")
	}
	running := start(t, h)
	running.cycles(t, 3)
	select {
	case err := <-running.done:
		t.Fatalf("Start returned: %v", err)
	default:
	}
	if h.server.openConnections() == 0 {
		t.Error("No connection is kept for the next report")
	}
	running.stop(t)
	eventually(t, "no connection is open", func() bool { return h.server.openConnections() == 0 })
	h.server.received()
	h.fakeClock.Step(time.Hour)
	if got := operations(h.server.received()); len(got) != 0 {
		t.Errorf("After Start has returned it sends %v", got)
	}
}

// TestCaseH04AReporterThatStartsWhileTheManagerEndsSendsNothing is the variant of
// a standby that is told to end.
func TestCaseH04AReporterThatStartsWhileTheManagerEndsSendsNothing(t *testing.T) {
	h := newHarness(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Start(ctx); err != nil {
		t.Errorf("Start: %v", err)
	}
	if got := operations(h.server.received()); len(got) != 0 {
		t.Errorf("It sends %v", got)
	}
}

// TestCaseB08OfTwoAgentsTheNewerReports: the older stops at its next report, and
// the rows never go back and forth.
func TestCaseB08OfTwoAgentsTheNewerReports(t *testing.T) {
	first := newHarness(t)
	second := newHarness(t)
	second.client = first.client
	first.pods.objects = []*corev1.Pod{testPod("a", "of-the-first")}
	second.pods.objects = []*corev1.Pod{testPod("a", "of-the-second")}
	old, young := newLoop(first.reporter), newLoop(second.reporter)
	mustCycle(t, old)
	for range 3 {
		mustCycle(t, young)
		if err := old.cycle(t.Context()); !serverclient.IsRefused(err, codeSessionSuperseded) {
			t.Errorf("error = %v", err)
		}
		if diff := cmp.Diff([]string{"a/of-the-second"}, first.server.podNames()); diff != "" {
			t.Errorf("stored pods (-want +got):\n%s", diff)
		}
	}

	// An agent of another cluster, with a token of this one, is refused.
	third := newHarness(t)
	third.client, third.clusterUID = first.client, "of another cluster"
	if err := newLoop(third.reporter).cycle(t.Context()); !serverclient.IsRefused(err, codeClusterMismatch) {
		t.Errorf("error = %v", err)
	}
	mustCycle(t, young)
}

// TestP2DataIsAsOldAsEitherClockSays: the wall clock is set, forward and back, and
// the one that only runs stands still while the machine sleeps.
func TestP2DataIsAsOldAsEitherClockSays(t *testing.T) {
	for name, tc := range map[string]struct {
		wall, run time.Duration
	}{
		"both go on alike":                {wall: 7 * time.Second, run: 7 * time.Second},
		"the wall clock is set back":      {wall: -time.Hour, run: 7 * time.Second},
		"the machine sleeps for a moment": {wall: 7 * time.Second, run: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			provenAt := testStart
			s := &session{clock: twoClocks{now: provenAt.Add(tc.wall), since: tc.run}}
			header := s.header(provenAt)
			if age := header.SentAt.Sub(header.ObservedAt); age != 7*time.Second {
				t.Errorf("The data is %s old, want 7s", age)
			}
			if !header.SentAt.Equal(provenAt.Add(tc.wall)) {
				t.Errorf("It is sent at %s, want what the wall clock shows, %s", header.SentAt, provenAt.Add(tc.wall))
			}
		})
	}
}

// twoClocks are a wall clock and one that only runs, which disagree.
type twoClocks struct {
	now   time.Time
	since time.Duration
}

func (c twoClocks) Now() time.Time { return c.now }

func (c twoClocks) Since(time.Time) time.Duration { return c.since }

func TestP1AnIntervalBeyondReasonIsNotTaken(t *testing.T) {
	for seconds, want := range map[int]time.Duration{0: 5 * time.Second, -1: 5 * time.Second, 1 << 40: maxIntervalSeconds * time.Second} {
		h := newHarness(t)
		h.server.intervalSeconds = seconds
		l := newLoop(h.reporter)
		mustCycle(t, l)
		if got := l.pace.interval; got != want {
			t.Errorf("For %d seconds the interval is %s, want %s", seconds, got, want)
		}
	}
}

func TestP1TheServersIntervalWins(t *testing.T) {
	h := newHarness(t)
	h.server.intervalSeconds = 20
	l := newLoop(h.reporter)
	mustCycle(t, l)
	if got := l.wait(nil, 0); got < 18*time.Second || got > 22*time.Second {
		t.Errorf("It waits %s, want 20s give or take a tenth", got)
	}
	h.server.intervalSeconds = 0
	l.session = nil
	mustCycle(t, l)
	if got := l.pace.interval; got != 5*time.Second {
		t.Errorf("A server that asks for nothing leaves it at %s, want the agent's own 5s", got)
	}
}

// runningReporter is a reporter within Start.
type runningReporter struct {
	*harness
	cancel context.CancelFunc
	done   chan error
}

func start(t *testing.T, h *harness) *runningReporter {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &runningReporter{harness: h, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- h.Start(ctx) }()
	return r
}

// cycles lets the reporter go through n whole cycles.
func (r *runningReporter) cycles(t *testing.T, n int) {
	t.Helper()
	for range n {
		eventually(t, "it waits for the next cycle", r.fakeClock.HasWaiters)
		before := len(r.server.sequencesOf(kindDeployments))
		r.fakeClock.Step(6 * time.Second)
		eventually(t, "it reports", func() bool { return len(r.server.sequencesOf(kindDeployments)) > before })
	}
	eventually(t, "it waits for the next cycle", r.fakeClock.HasWaiters)
}

func (r *runningReporter) stop(t *testing.T) {
	t.Helper()
	r.cancel()
	select {
	case err := <-r.done:
		if err != nil {
			t.Errorf("Start: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Start does not return")
	}
}

// eventually polls, with a deadline, for what happens on another goroutine.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("It does not come about that %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}
