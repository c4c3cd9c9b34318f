// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// result is what one contender took, at one size and rate.
type result struct {
	Contender string `json:"contender"`
	Pods      int    `json:"pods"`
	// Rate is how many statuses were to change in a second, RateReached how many
	// the API server took.
	Rate        int     `json:"changesPerSecond"`
	RateReached float64 `json:"changesPerSecondReached"`
	// RSSBytes is the most memory that it had while it was measured, PeakRSSBytes
	// since its start.
	RSSBytes     int64 `json:"rssBytes"`
	PeakRSSBytes int64 `json:"peakRssBytes"`
	Cycles       int   `json:"cycles"`
	// The others are means of a cycle.
	CPUSeconds      float64 `json:"cpuSecondsPerCycle"`
	SnapshotSeconds float64 `json:"snapshotSeconds"`
	RawBytes        float64 `json:"rawBytesPerCycle"`
	SentBytes       float64 `json:"sentBytesPerCycle"`
	APIRequests     float64 `json:"apiRequestsPerCycle"`
	// From the change in the API server to the row in the server's database.
	DelayMedian float64 `json:"delayMedianSeconds,omitempty"`
	DelayP99    float64 `json:"delayP99Seconds,omitempty"`
	Delays      int     `json:"delays,omitempty"`
}

func (r *result) perCycle(before, after counters) {
	r.Cycles = after.Cycles - before.Cycles
	cycles := float64(r.Cycles)
	r.CPUSeconds = (after.CPUSeconds - before.CPUSeconds) / cycles
	r.SnapshotSeconds = (after.SnapshotSeconds - before.SnapshotSeconds) / cycles
	r.RawBytes = (after.RawBytes - before.RawBytes) / cycles
	r.SentBytes = (after.SentBytes - before.SentBytes) / cycles
	r.APIRequests = float64(after.APIRequests-before.APIRequests) / cycles
}

func (r *result) delays(delays []time.Duration) {
	if len(delays) == 0 {
		return
	}
	slices.Sort(delays)
	r.Delays = len(delays)
	r.DelayMedian = delays[len(delays)/2].Seconds()
	r.DelayP99 = delays[len(delays)*99/100].Seconds()
}

// table writes results as a Markdown table.
func table(results []result) string {
	var text strings.Builder
	text.WriteString("| pods | changes/s | contender | RSS | peak RSS | CPU a cycle | snapshot | raw a cycle | sent a cycle |" +
		" API requests a cycle | change → row, median / p99 |\n")
	text.WriteString("|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for i := range results {
		r := &results[i]
		delay := "–"
		if r.Delays > 0 {
			delay = fmt.Sprintf("%.1f s / %.1f s", r.DelayMedian, r.DelayP99)
		}
		rate := fmt.Sprint(r.Rate)
		if r.RateReached < 0.95*float64(r.Rate) {
			rate = fmt.Sprintf("%.0f (of %d)", r.RateReached, r.Rate)
		}
		fmt.Fprintf(&text, "| %d | %s | %s | %.0f MB | %.0f MB | %.0f ms | %.0f ms | %.1f KB | %.1f KB | %.1f | %s |\n",
			r.Pods, rate, r.Contender, float64(r.RSSBytes)/1e6, float64(r.PeakRSSBytes)/1e6, r.CPUSeconds*1e3, r.SnapshotSeconds*1e3,
			r.RawBytes/1e3, r.SentBytes/1e3, r.APIRequests, delay)
	}
	return text.String()
}

// find returns the result of a contender, nil where it was not measured.
func find(results []result, contender string, pods, rate int) *result {
	for i := range results {
		if r := &results[i]; r.Contender == contender && r.Pods == pods && r.Rate == rate {
			return r
		}
	}
	return nil
}

// goalPods is from how many pods on the goals count: with fewer the fixed cost of
// the proofs is a large part of a small whole.
const goalPods = 10_000

// goals writes how the reporter stands to the informer baseline and to what is
// asked of it.
func goals(results []result) string {
	var text strings.Builder
	text.WriteString("| pods | measure | reporter | is to be | |\n|---:|---|---:|---:|---|\n")
	line := func(pods int, measure, format string, value, limit float64) {
		verdict := "met"
		if value > limit {
			verdict = "**missed**"
		}
		fmt.Fprintf(&text, "| %d | %s | "+format+" | ≤ "+format+" | %s |\n", pods, measure, value, limit, verdict)
	}
	memory := map[int]float64{10_000: 6, 50_000: 12}
	for i := range results {
		own := &results[i]
		plain := find(results, informerBaseline, own.Pods, own.Rate)
		if own.Contender != ours || plain == nil || own.Pods < goalPods {
			continue
		}
		if part, ok := memory[own.Pods]; ok {
			line(own.Pods, fmt.Sprintf("memory of the informer baseline, %d changes/s", own.Rate), "%.3f", float64(own.RSSBytes)/float64(plain.RSSBytes), 1/part)
		}
		cpu, sent := 0.4, 70.0
		if own.Rate == 0 {
			cpu, sent = 1.0/40, 12
		}
		line(own.Pods, fmt.Sprintf("CPU of the informer baseline, %d changes/s", own.Rate), "%.3f", own.CPUSeconds/plain.CPUSeconds, cpu)
		line(own.Pods, fmt.Sprintf("KB sent a cycle, %d changes/s", own.Rate), "%.1f", own.SentBytes/1e3, sent)
		if own.Delays > 0 {
			line(own.Pods, "seconds from change to row, median", "%.1f", own.DelayMedian, 5)
			line(own.Pods, "seconds from change to row, 99th percentile", "%.1f", own.DelayP99, 7)
		}
	}
	return text.String()
}

// The part of the document that is written anew stands between these lines.
const (
	docsBegin = "<!-- make bench-reporter writes from here -->\n"
	docsEnd   = "<!-- to here -->\n"
)

// writeDocs writes the results into a document.
func writeDocs(path string, results []result) error {
	content, err := os.ReadFile(path) //nolint:gosec // who runs it names the file
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(content), docsBegin)
	_, after, closed := strings.Cut(rest, docsEnd)
	if !found || !closed {
		return fmt.Errorf("%s has no part that is to be written anew", path)
	}
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	part := fmt.Sprintf("%s\n%s\nMeasured on %s with %d processors, %s.\n\n<details><summary>As JSON</summary>\n\n```json\n%s\n```\n\n</details>\n",
		table(results), goals(results), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), data)
	return os.WriteFile(path, []byte(before+docsBegin+part+docsEnd+after), 0o644) //nolint:gosec // a document that everybody may read
}
