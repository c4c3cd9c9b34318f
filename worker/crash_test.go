// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// readings are the calls that change nothing; what happens between two of them is
// the same as what happens between the calls around them.
var readings = []string{"VisibleClusters", "ClaimNothing", "RenewTaskLease", "ReadTask", "ReadWrittenSpec"}

// crasher ends a worker when the n-th call that changes something has been carried
// out, before the worker hears of it. That it ends before the next one is made
// comes to the same: what it knew is lost.
type crasher struct {
	at int

	mu      sync.Mutex
	seen    int
	crashed string
}

func (c *crasher) hook(call string) bool {
	if slices.Contains(readings, call) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen++
	if c.seen != c.at {
		return false
	}
	c.crashed = call
	return true
}

// TestW3AWorkerThatCrashesAnywhereChangesNoOutcome: an application is created,
// upgraded with hooks, and deleted; its worker is killed at one point of that,
// and another goes on. Every point is tried.
func TestW3AWorkerThatCrashesAnywhereChangesNoOutcome(t *testing.T) {
	if testing.Short() {
		t.Skip("it tells the story some forty times")
	}
	undisturbed := &crasher{}
	crashStory(t, undisturbed)
	if undisturbed.seen < 20 {
		t.Fatalf("the story has %d calls only", undisturbed.seen)
	}
	for point := 1; point <= undisturbed.seen; point++ {
		t.Run(fmt.Sprintf("at call %d", point), func(t *testing.T) {
			t.Parallel()
			c := &crasher{at: point}
			crashStory(t, c)
			// A call may have been made twice in the undisturbed story.
			if c.crashed == "" && point < undisturbed.seen-2 {
				t.Error("the worker was not killed")
			}
		})
	}
}

func crashStory(t *testing.T, c *crasher) {
	s := newStage(t)
	first := s.startWorker(briefly, func(h *hands, _ *Options) { h.after = c.hook })
	replaced := make(chan struct{})
	go func() {
		defer close(replaced)
		select {
		case <-first.done:
			s.startWorker()
		case <-t.Context().Done():
		}
	}()
	s.running(shopSpec("2.4.0"))
	written := s.history()
	upgrade := s.upgrade("2.5.0")
	watched := s.neverRunning(upgrade)
	s.wantResult(upgrade, "SUCCEEDED", "")
	watched()
	s.wantStatus("RUNNING")
	want := []string{"2.4.0 running: true", "2.4.0 running: false", "2.5.0 running: false", "2.5.0 running: true"}
	if got := slices.Compact(written()); !slices.Equal(got, want) {
		t.Errorf("killed at %q, %v was written", c.crashed, got)
	}
	s.wantResult(s.change("deleteDeployment(id: $d)"), "SUCCEEDED", "")
	s.wantStatus("DELETED")
	if s.object() != nil {
		t.Errorf("killed at %q, the object is left", c.crashed)
	}
}
