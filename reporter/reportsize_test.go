// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
// of a namespace does not ask for it, and its rows may be wrong all the same. What it
// lacks does not wait for that, and a round that takes long is not begun anew.
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
	const namespaces, limit = 2048, 3 << 19
	h := newHarness(t)
	for i := range namespaces {
		h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i), "pod", withMessage(strings.Repeat("m", 1000)), func(p *corev1.Pod) {
			p.UID = types.UID(fmt.Sprintf("uid-%d", i))
		}))
	}
	h.server.intercept = func(w http.ResponseWriter, _ *http.Request, request *modelRequest) bool {
		if len(request.raw) < limit {
			return false
		}
		writeRefusal(w, codeTooLarge)
		return true
	}
	l := newLoop(h.reporter)
	for range 8 {
		if err := l.cycle(t.Context()); err != nil && !serverclient.IsRefused(err, codeTooLarge) {
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
