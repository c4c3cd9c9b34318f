// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

// Almost all of the agent's heap is what the informers keep, for long. Go's
// default, which lets the heap double, would make a large one twice as large for
// some milliseconds of CPU a minute; a small one is cheap to let grow.
const (
	// gcPercent is by how much the heap may grow before the garbage is collected.
	gcPercent = 50
	// minGarbage is how many bytes it may grow by in any case, up to maxGCPercent:
	// the heap can be many times as large at the next look at it.
	minGarbage   = 48 << 20
	maxGCPercent = 200
)

// liveHeap is the metric of what the last collection found in use.
const liveHeap = "/gc/heap/live:bytes"

// collector decides when the process collects its garbage, unless its
// environment does (GOGC).
type collector struct {
	isOff           bool
	before, percent int
}

// startCollector returns a collector that decides from now on.
func startCollector() *collector {
	if os.Getenv("GOGC") != "" {
		return &collector{isOff: true}
	}
	return &collector{before: debug.SetGCPercent(gcPercent), percent: gcPercent}
}

// adapt decides by the size that the heap has now.
func (c *collector) adapt() {
	if c.isOff {
		return
	}
	live := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(live)
	if percent := gcPercentOf(live[0].Value.Uint64()); percent != c.percent {
		debug.SetGCPercent(percent)
		c.percent = percent
	}
}

// stop leaves the decision to what it was before.
func (c *collector) stop() {
	if !c.isOff {
		debug.SetGCPercent(c.before)
	}
}

// gcPercentOf returns by how much a heap may grow of which so many bytes are in
// use.
func gcPercentOf(live uint64) int {
	if live < minGarbage*100/maxGCPercent {
		return maxGCPercent
	}
	return max(gcPercent, int(minGarbage*100/live))
}
