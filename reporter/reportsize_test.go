// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/styrmin/styrmin/internal/serverclient"
)

// TestCaseB07ReportsStayWithinALimit: what is over the limit goes with the next
// reports, and nothing is deleted meanwhile.
func TestCaseB07ReportsStayWithinALimit(t *testing.T) {
	h := newHarness(t)
	for i := range 10 {
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i), "pod", func(p *corev1.Pod) {
			p.UID = types.UID(fmt.Sprintf("uid-%d", i))
		}))
	}
	l := newLoop(h.reporter)
	l.rowBytes = 1000
	previous := 0
	for range 10 {
		mustCycle(t, l)
		if got, soon := l.wait(nil, 0), l.podTable.awaitsResend(); soon != (got < 2*time.Second) {
			t.Errorf("It waits %s, and has held back something: %t", got, soon)
		}
		for _, request := range h.server.received() {
			if request.OperationName == "ReportPodStatuses" && len(request.raw) > 1000+3000 {
				t.Errorf("A report has %d bytes", len(request.raw))
			}
		}
		stored := len(h.server.podNames())
		if stored < previous {
			t.Errorf("The server had %d pods, now %d", previous, stored)
		}
		previous = stored
	}
	if previous != 10 {
		t.Errorf("The server has %d pods, want 10", previous)
	}
}

// TestP7EverythingTravelsThoughItTakesSeveralReports: a server that holds the digest
// of a namespace does not ask for it, and its rows may be wrong all the same. Changes
// do not wait for that, and a round that takes long goes on where it was.
func TestP7EverythingTravelsThoughItTakesSeveralReports(t *testing.T) {
	h := newHarness(t)
	for i := range 10 {
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i), "pod"))
	}
	l := newLoop(h.reporter)
	mustCycle(t, l)
	h.server.change(func() {
		for _, namespace := range h.server.namespaces {
			clear(namespace.pods)
		}
	})
	for cycle := range 10 {
		l.rowBytes = 1000
		h.fakeClock.Step(fullReportInterval)
		if cycle == 1 {
			h.pods.objects[9] = testPod("ns-9", "pod", withVersion(2), withMessage("new"))
		}
		mustCycle(t, l)
		if got := h.server.storedPods()["ns-9/uid-of-pod"].Message; cycle == 1 && (got == nil || *got != "new") {
			t.Errorf("A change waits for what is told again: the message is %v", got)
		}
	}
	want := map[string]PodStatusInput{}
	for _, pod := range h.pods.objects {
		want[pod.Namespace+"/"+string(pod.UID)] = podRow(pod, "")
	}
	if diff := cmp.Diff(want, h.server.storedPods()); diff != "" {
		t.Errorf("stored pods (-cluster +server):\n%s", diff)
	}
}

// crowd adds a namespace with so many pods to the cluster, and returns their names.
func (h *harness) crowd(namespace string, pods int) []string {
	names := make([]string, 0, pods)
	for i := range pods {
		name := fmt.Sprintf("pod-%02d", i)
		h.pods.objects = append(h.pods.objects, testPod(namespace, name))
		names = append(names, name)
	}
	return names
}

// TestP7ALargeNamespaceTravelsBesideOnesThatNeverRest, whatever the room is, both at
// first and when everything is told again.
func TestP7ALargeNamespaceTravelsBesideOnesThatNeverRest(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = []*corev1.Pod{testPod("ns-a", "restless")}
	crowd := h.crowd("ns-z", 20)
	l := newLoop(h.reporter)
	version := 1
	// hasTravelled tells whether the whole namespace has within so many cycles.
	hasTravelled := func(cycles int) bool {
		for range cycles {
			l.rowBytes = 1000
			version++
			h.pods.objects[0] = testPod("ns-a", "restless", withVersion(version), withMessage(strconv.Itoa(version)))
			mustCycle(t, l)
			if got := travels(t, h.server.received())["ns-z"]; got.Whole && len(got.Pods) == len(crowd) {
				return true
			}
		}
		return false
	}
	if !hasTravelled(3) {
		t.Error("It has not travelled")
	}
	if hasTravelled(3) {
		t.Error("It travels again, though it was acknowledged")
	}
	h.fakeClock.Step(fullReportInterval)
	if !hasTravelled(3) {
		t.Error("It has not travelled again after ten minutes")
	}
}

// TestP7ChangesThatHaveToWaitStayChanges: the server has what they are changes to as
// before.
func TestP7ChangesThatHaveToWaitStayChanges(t *testing.T) {
	const namespaces = 6
	h := newHarness(t)
	for i := range namespaces {
		h.crowd(fmt.Sprintf("ns-%d", i), 20)
	}
	l := newLoop(h.reporter)
	mustCycle(t, l)
	h.server.received()
	for i := range namespaces {
		changed := &h.pods.objects[20*i]
		*changed = testPod((*changed).Namespace, (*changed).Name, withVersion(2), withMessage(strings.Repeat("m", 500)))
	}
	counts := map[string]int{}
	for range namespaces {
		l.rowBytes = 1000
		mustCycle(t, l)
		for name, what := range travels(t, h.server.received()) {
			if what.Whole {
				t.Errorf("%s travels whole", name)
			}
			if what.HasBase {
				counts[name]++
			}
		}
	}
	for i := range namespaces {
		if got := counts[fmt.Sprintf("ns-%d", i)]; got != 1 {
			t.Errorf("The change in ns-%d travelled %d times", i, got)
		}
	}
	if l.podTable.awaitsResend() {
		t.Error("Something is not acknowledged")
	}
}

// TestCaseB07ANamespaceThatTheServerNeverTakesHoldsUpNoOther: it is tried more and
// more rarely.
func TestCaseB07ANamespaceThatTheServerNeverTakesHoldsUpNoOther(t *testing.T) {
	for name, tooMuchFrom := range map[string]int{"from the first": 1, "since it has all changed": 3} {
		t.Run(name, func(t *testing.T) { testNeverTaken(t, tooMuchFrom) })
	}
}

// proxyTooLarge answers as a proxy that takes no request of 5,000 bytes.
func proxyTooLarge(w http.ResponseWriter, _ *http.Request, request *modelRequest) bool {
	if len(request.raw) < 5000 {
		return false
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusRequestEntityTooLarge)
	return true
}

func testNeverTaken(t *testing.T, tooMuchFrom int) {
	t.Helper()
	h := newHarness(t)
	h.crowd("ns-a", 20)
	h.pods.objects = append(h.pods.objects, testPod("ns-b", "other"))
	l := newLoop(h.reporter)
	refused := 0
	for version := 2; version <= 66; version++ {
		l.rowBytes = 1000
		if version-1 == tooMuchFrom {
			h.server.change(func() { h.server.intercept = proxyTooLarge })
			for i, pod := range h.pods.objects[:20] {
				h.pods.objects[i] = testPod(pod.Namespace, pod.Name, withVersion(2), withMessage("changed"))
			}
		}
		h.pods.objects[20] = testPod("ns-b", "other", withVersion(version), withMessage(strconv.Itoa(version)))
		err := l.cycle(t.Context())
		if serverclient.IsRefused(err, codeTooLarge) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 || refused > 12 {
		t.Errorf("It was refused %d of 65 times", refused)
	}
	if got := h.server.storedPods()["ns-b/uid-of-other"].Message; got == nil || *got != "66" {
		t.Errorf("The other namespace's message is %v, want that of the last change", ptr.Deref(got, ""))
	}
	if got := len(h.server.sequencesOf(kindDeployments)); got != 65 {
		t.Errorf("Deployments were reported %d times, want 65", got)
	}
}

// TestCaseB07ANamespaceThatWasTooMuchIsTriedAgain, though nothing has changed.
func TestCaseB07ANamespaceThatWasTooMuchIsTriedAgain(t *testing.T) {
	h := newHarness(t)
	h.crowd("ns", 20)
	table := newPodTable()
	if err := table.update(h.pods.objects, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		tried := 0
		for tries := 1; tries <= 8; tries++ {
			reports := table.report(1000)
			if reports[0].rows == nil {
				continue
			}
			tried++
			table.exceeded(reports, 1000)
		}
		if tried < 2 || tried > 5 {
			t.Errorf("It is tried in %d of 8 reports", tried)
		}
		table.acknowledge(table.report(1<<20), nil, nil)
		table.forget()
	}
}

// TestP7NewcomersDoNotOvertakeANamespaceThatWaits, though it was too much before.
func TestP7NewcomersDoNotOvertakeANamespaceThatWaits(t *testing.T) {
	h := newHarness(t)
	crowd := h.crowd("ns-z", 20)
	l := newLoop(h.reporter)
	if err := l.podTable.update(h.pods.objects, nil); err != nil {
		t.Fatal(err)
	}
	l.podTable.exceeded(l.podTable.report(maxRowBytes), maxRowBytes)
	for i := range 8 {
		// One that is new in each cycle, and first by its name.
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-a%d", i), "pod"))
		l.rowBytes = 1000
		mustCycle(t, l)
	}
	if got := len(h.server.podNames()); got != len(crowd)+8 {
		t.Errorf("The server has %d pods, want %d", got, len(crowd)+8)
	}
}

// TestCaseB07TwoNamespacesThatWereTooMuchTakeTurns: the server may take one of them by
// now.
func TestCaseB07TwoNamespacesThatWereTooMuchTakeTurns(t *testing.T) {
	h := newHarness(t)
	h.crowd("ns-a", 20)
	h.crowd("ns-b", 20)
	table := newPodTable()
	if err := table.update(h.pods.objects, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		table.exceeded(table.report(maxRowBytes), maxRowBytes)
	}
	for range 32 {
		reports := table.report(1000)
		if reports[1].rows != nil {
			return
		}
		if reports[0].rows != nil {
			table.exceeded(reports, 1000)
		}
	}
	t.Error("One that the server takes has not gone, beside one that it never takes")
}

// TestP9AServerThatNeverHasTheWholeStateIsNoneThatIsReportedTo: to its users the last
// report is old.
func TestP9AServerThatNeverHasTheWholeStateIsNoneThatIsReportedTo(t *testing.T) {
	h := newHarness(t)
	var lines []string
	h.log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	h.crowd("ns-a", 20)
	h.crowd("ns-b", 1)
	h.health.started()
	l := newLoop(h.reporter)
	// cycles runs so many, and returns how many times a failure was logged.
	cycles := func(n int) int {
		lines = nil
		for range n {
			l.rowBytes = 1000
			h.fakeClock.Step(5 * time.Second)
			_ = l.cycle(t.Context())
		}
		return strings.Count(strings.Join(lines, "\n"), errNotWhole.Error())
	}
	cycles(2)
	h.server.change(func() { h.server.intercept = proxyTooLarge })
	for i, pod := range h.pods.objects[:20] {
		h.pods.objects[i] = testPod(pod.Namespace, pod.Name, withVersion(2), withMessage("changed"))
	}
	if logged := cycles(12); logged != 0 {
		t.Errorf("What does not fit at once is called a failure within a minute, %d times", logged)
	}
	if logged := cycles(13); logged == 0 {
		t.Error("It is not logged that the server lacks something for good")
	}
	err := h.health.check(nil)
	if err == nil || !strings.Contains(err.Error(), "pods have not been reported for 2m5s") || strings.Contains(err.Error(), "styrmindeployments") {
		t.Errorf("readiness: %v", err)
	}
	metrics := gather(t, h.registry)
	if got, want := metrics["last_success_timestamp_seconds pods"], float64(testStart.Add(10*time.Second).Unix()); got != want {
		t.Errorf("The last success was %v s after the last that was one", got-want)
	}
	if metrics["reports_total pods behind"] == 0 || metrics["reports_total pods success"] != 1 {
		t.Errorf("metrics: %v", metrics)
	}

	h.server.change(func() { h.server.intercept = nil })
	cycles(8)
	if err := h.health.check(nil); err != nil {
		t.Errorf("It is mended, and yet not ready: %v", err)
	}
}

// TestP7WhatGoesWhileTheServerTakesNothingIsNotKeptForEver: it grows no longer than
// the namespace is.
func TestP7WhatGoesWhileTheServerTakesNothingIsNotKeptForEver(t *testing.T) {
	h := newHarness(t)
	l := newLoop(h.reporter)
	h.pods.objects = []*corev1.Pod{testPod("ns", "stays"), testPod("ns", "pod-0")}
	mustCycle(t, l)
	h.server.intercept = func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) bool {
		writeRefusal(w, "UNAUTHENTICATED")
		return true
	}
	for i := range 100 {
		h.pods.objects[1] = testPod("ns", fmt.Sprintf("pod-%d", i+1))
		if err := l.cycle(t.Context()); err == nil {
			t.Fatal("A report was taken")
		}
	}
	if got := len(l.podTable.namespaces["ns"].gone); got > 2 {
		t.Errorf("It keeps %d pods that are gone", got)
	}
	h.server.change(func() { h.server.intercept = nil })
	mustCycle(t, l)
	if diff := cmp.Diff(clusterPodNames(h.pods.objects), h.server.podNames()); diff != "" {
		t.Errorf("stored pods (-cluster +server):\n%s", diff)
	}
}

// TestP5PodsThatCannotBeReadAreNotHurriedFor: what was held back waits for them too.
func TestP5PodsThatCannotBeReadAreNotHurriedFor(t *testing.T) {
	h := newHarness(t)
	for i := range 10 {
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i), "pod"))
	}
	l := newLoop(h.reporter)
	l.rowBytes = 1000
	mustCycle(t, l)
	if wait := l.wait(nil, 0); wait > 2*time.Second {
		t.Fatalf("It has held back something, and waits %s", wait)
	}
	h.pods.err = errTest
	mustCycle(t, l)
	if wait := l.wait(nil, 0); wait < 2*time.Second {
		t.Errorf("It can send no pods, and waits only %s", wait)
	}
}

func TestCaseB07AServerThatFindsReportsTooLargeGetsSmallerOnes(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"it says so itself":                    func(w http.ResponseWriter, _ *http.Request) { writeRefusal(w, codeTooLarge) },
		"a proxy does not wait so long for it": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) },
	} {
		t.Run(name, func(t *testing.T) { testSmallerReports(t, answer) })
	}
}

func testSmallerReports(t *testing.T, tooLarge http.HandlerFunc) {
	t.Helper()
	const namespaces, limit = 2048, 3 << 19
	h := newHarness(t)
	for i := range namespaces {
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i), "pod", withMessage(strings.Repeat("m", 1000)), func(p *corev1.Pod) {
			p.UID = types.UID(fmt.Sprintf("uid-%d", i))
		}))
	}
	h.server.intercept = func(w http.ResponseWriter, r *http.Request, request *modelRequest) bool {
		if len(request.raw) < limit {
			return false
		}
		tooLarge(w, r)
		return true
	}
	l := newLoop(h.reporter)
	for range 8 {
		if err := l.cycle(t.Context()); err != nil && !mayBeTooMuch(maxRowBytes, err) {
			t.Fatal(err)
		}
	}
	if got := len(h.server.podNames()); got != namespaces {
		t.Errorf("The server has %d pods, want %d", got, namespaces)
	}
	// The other half is not held up by the pods.
	if got := h.server.sequencesOf(kindDeployments); len(got) != 8 {
		t.Errorf("Deployments were reported %d times, want 8", len(got))
	}
}

// TestCaseB07ASlowServerHasEverythingInTheEnd: it needs the longer the more there
// is, and the agent waits only so long.
func TestCaseB07ASlowServerHasEverythingInTheEnd(t *testing.T) {
	const namespaces, inTime = 1024, 400 << 10
	h := newHarness(t)
	for i := range namespaces {
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i), "pod", withMessage(strings.Repeat("m", 1000)), func(p *corev1.Pod) {
			p.UID = types.UID(fmt.Sprintf("uid-%d", i))
		}))
	}
	h.client = &slowConnection{serverConnection: h.client, inTime: inTime}
	l := newLoop(h.reporter)
	timeouts, cycles := 0, 0
	for ; len(h.server.podNames()) < namespaces && cycles < 40; cycles++ {
		err := l.cycle(t.Context())
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err != nil {
			timeouts++
		}
	}
	if got := len(h.server.podNames()); got != namespaces || timeouts == 0 {
		t.Errorf("After %d timeouts the server has %d pods, want %d after some", timeouts, got, namespaces)
	}
	// Nor is the other half held up by that (P3).
	if got := h.server.sequencesOf(kindDeployments); len(got) != cycles {
		t.Errorf("Deployments were reported %d times in %d cycles", len(got), cycles)
	}
}

// slowConnection reaches a server that does not come to an end in time with more
// than so many bytes of pods.
type slowConnection struct {
	serverConnection
	inTime int
}

func (c *slowConnection) MakeRequest(ctx context.Context, request *graphql.Request, response *graphql.Response) error {
	if variables, ok := request.Variables.(*podVariables); ok && sizeOf(variables.namespaces) > c.inTime {
		return fmt.Errorf("sending: %w", context.DeadlineExceeded)
	}
	return c.serverConnection.MakeRequest(ctx, request, response)
}

func TestCaseB07TheSizeOfReportsFollowsTheServer(t *testing.T) {
	tooLarge := &serverclient.Refusal{Code: codeTooLarge}
	for name, tc := range map[string]struct {
		limit, sent int
		err         error
		want        int
	}{
		"all was too much":                   {maxRowBytes, 8 << 20, tooLarge, 4 << 20},
		"it took too long":                   {maxRowBytes, 8 << 20, context.DeadlineExceeded, 4 << 20},
		"a small one took too long":          {4 << 20, 1 << 10, context.DeadlineExceeded, 4 << 20},
		"one namespace alone was too much":   {4 << 20, 9 << 20, tooLarge, 2 << 20},
		"there is a least size":              {minRowBytes, minRowBytes, tooLarge, minRowBytes},
		"other failures say nothing of size": {4 << 20, 4 << 20, errTest, 4 << 20},
		"it goes well again":                 {4 << 20, 4 << 20, nil, 9 << 19},
		"it goes well, but is no test":       {4 << 20, 1 << 20, nil, 4 << 20},
		"there is a largest size":            {maxRowBytes, maxRowBytes, nil, maxRowBytes},
	} {
		t.Run(name, func(t *testing.T) {
			l := &loop{rowBytes: tc.limit}
			l.adaptSize(tc.sent, tc.err)
			if l.rowBytes != tc.want {
				t.Errorf("size = %d, want %d", l.rowBytes, tc.want)
			}
		})
	}
}
