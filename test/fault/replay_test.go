// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestP4ReportsAreReorderedAndReplayed: a report that was held up on its way
// comes after newer ones, and then all that was ever sent comes again, forwards
// and backwards. None of it changes anything, the last-report time included.
func TestP4ReportsAreReorderedAndReplayed(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(s.config, agentOptions{interval: quick, requestTimeout: 4 * time.Second})
	s.shown(startWithin, stays, changes, goes, shop)

	for _, half := range []half{pods, deployments} {
		held := s.holdNext(half)
		s.setPod(changes, "CrashLoopBackOff")
		s.setDeployment(failed)
		s.detected("a change behind a report that is held up", s.shown(2*goOnBound, changes, shop), goOnBound)
		late := <-held
		s.must(s.gateway.pass(context.Background(), late)) // The agent that sent it has given up.
		if late.answer == nil || late.applied {
			t.Errorf("%s %d came after newer ones and was applied: %s", half, late.Variables.Report.Sequence, late.answer.body)
		}
		s.setPod(changes, "Running")
		s.setDeployment(isRunning)
		s.shown(goOnBound, changes, shop)
	}

	agent.stop()
	s.gateway.settle()
	before, err := look(t.Context(), s.server, s.namespace)
	s.must(err)
	forwards := s.gateway.reports()
	backwards := slices.Clone(forwards)
	slices.Reverse(backwards)
	replayed := 0
	for _, report := range append(backwards, forwards...) {
		if report.OperationName != pods && report.OperationName != deployments {
			continue
		}
		again := *report
		again.answer, again.applied = nil, false
		s.must(s.gateway.pass(t.Context(), &again))
		if again.applied {
			t.Errorf("%s %d was applied again", again.OperationName, again.Variables.Report.Sequence)
		}
		replayed++
	}
	t.Logf("%d reports were replayed", replayed)
	after, err := look(t.Context(), s.server, s.namespace)
	s.must(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("what is shown (-before +after):\n%s", diff)
	}
}

// holdNext keeps the next report of a kind, which its agent gives up; later ones
// pass.
func (s *scenario) holdNext(half half) <-chan *report {
	held := make(chan *report, 1)
	var once sync.Once
	s.gateway.do(func(w http.ResponseWriter, r *http.Request, report *report) {
		isHeld := false
		if report.OperationName == half {
			once.Do(func() { isHeld = true })
		}
		if !isHeld {
			s.gateway.unharmed(w, r, report)
			return
		}
		<-r.Context().Done()
		late := *report
		held <- &late
	})
	return held
}
