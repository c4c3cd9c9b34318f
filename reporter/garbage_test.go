// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"runtime/debug"
	"testing"
)

func TestP7GarbageIsCollectedSoonerUnlessTheEnvironmentSaysWhen(t *testing.T) {
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
			undo := collectSooner()
			if got := current(); got != tc.want {
				t.Errorf("GC percent = %d, want %d", got, tc.want)
			}
			undo()
			if got := current(); got != 100 {
				t.Errorf("after that GC percent = %d, want 100", got)
			}
		})
	}
}
