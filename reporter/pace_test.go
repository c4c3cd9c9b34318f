// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"testing"
	"time"
)

func TestP5FailuresBackOffToHalfAMinute(t *testing.T) {
	p := &pace{interval: 5 * time.Second}
	for _, want := range []time.Duration{5, 10, 20, 30, 30, 30} {
		want *= time.Second
		if got := p.next(errTest, 0); got < want/2 || got > want {
			t.Errorf("failure %d: waits %s, want %s to %s", p.failures, got, want/2, want)
		}
	}
	for range 100 {
		p.next(errTest, 0)
	}
	if got := p.next(errTest, 0); got < maxBackoff/2 || got > maxBackoff {
		t.Errorf("after many failures it waits %s", got)
	}
	if got := p.next(nil, 0); got < 4500*time.Millisecond || got > 5500*time.Millisecond {
		t.Errorf("after a success it waits %s", got)
	}
	if got := p.next(errTest, 0); got > 5*time.Second {
		t.Errorf("the first failure after a success waits %s", got)
	}
}

func TestP1TheIntervalRunsFromBeginningToBeginningAndIsJittered(t *testing.T) {
	p := &pace{interval: 5 * time.Second}
	seen := map[time.Duration]bool{}
	for range 50 {
		got := p.next(nil, 2*time.Second)
		if got < 2500*time.Millisecond || got > 3500*time.Millisecond {
			t.Errorf("after a cycle of 2s it waits %s", got)
		}
		seen[got] = true
	}
	if len(seen) < 10 {
		t.Errorf("50 waits have %d values", len(seen))
	}
	if got := p.next(nil, time.Minute); got != 0 {
		t.Errorf("after a cycle longer than the interval it waits %s", got)
	}
}
