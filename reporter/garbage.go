// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"os"
	"runtime/debug"
)

// gcPercent is by how much the heap may grow before the garbage is collected.
// Almost all of the agent's heap is what the informers keep, for long: Go's
// default, which lets it double, would make the agent twice as large for some
// milliseconds of CPU a minute.
const gcPercent = 50

// collectSooner lets the process collect its garbage sooner, unless its
// environment says when (GOGC), and returns what undoes that.
func collectSooner() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}
