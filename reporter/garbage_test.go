// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestP7ASmallHeapMayGrowByMoreOfItsSize(t *testing.T) {
	for live, want := range map[uint64]int{
		0:         maxGCPercent,
		1 << 20:   maxGCPercent,
		24 << 20:  200,
		48 << 20:  100,
		64 << 20:  75,
		96 << 20:  gcPercent,
		250 << 20: gcPercent,
		1 << 60:   gcPercent,
	} {
		if got := gcPercentOf(live); got != want {
			t.Errorf("with %d bytes in use it may grow by %d %%, want %d %%", live, got, want)
		}
	}
}

func TestP7GarbageIsCollectedByTheHeapsSizeUnlessTheEnvironmentSaysWhen(t *testing.T) {
	current := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for name, tc := range map[string]struct {
		environment string
		want        int
	}{
		"it says nothing": {"", gcPercent},
		"it says when":    {"200", 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", tc.environment)
			c := startCollector()
			if got := current(); got != tc.want {
				t.Errorf("GC percent = %d, want %d", got, tc.want)
			}
			runtime.GC()
			c.adapt()
			if got := current(); (got == tc.want) != (tc.environment != "") {
				t.Errorf("with a small heap GC percent = %d", got)
			}
			large := make([]byte, 2*minGarbage*100/gcPercent)
			runtime.GC()
			c.adapt()
			if got := current(); got != tc.want {
				t.Errorf("with a large heap GC percent = %d, want %d", got, tc.want)
			}
			runtime.KeepAlive(large)
			c.stop()
			if got := current(); got != 100 {
				t.Errorf("after that GC percent = %d, want 100", got)
			}
		})
	}
}
