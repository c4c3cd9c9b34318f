// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
)

// recordedFolder holds HelmReleases recorded from real Flux controllers, one
// scenario a file, one watch event a line.
var recordedFolder = filepath.Join("testdata", "helmrelease")

// recordedEvent is one line of a recording.
type recordedEvent struct {
	SeenAt    time.Time `json:"seenAt"`
	SeenEvent string    `json:"seenEvent"`
	helmv2.HelmRelease
}

// readRecording reads one recorded scenario.
func readRecording(t testing.TB, name string) []recordedEvent {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(recordedFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	var events []recordedEvent
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		event := recordedEvent{}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("%s, line %d: %v", name, len(events)+1, err)
		}
		events = append(events, event)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// recordings are the sequences of statuses that the simulated Flux plays, as of
// generation 1.
type recordings struct {
	installOK, installFails []helmv2.HelmReleaseStatus
}

func loadRecordings(t testing.TB) recordings {
	t.Helper()
	return recordings{
		installOK:    statusesOfFirstGeneration(readRecording(t, "01-install-ok.jsonl")),
		installFails: statusesOfFirstGeneration(readRecording(t, "04a-install-fail-retries0.jsonl")),
	}
}

// statusesOfFirstGeneration are a recording's statuses up to the end of the
// first generation's reconcile.
func statusesOfFirstGeneration(events []recordedEvent) []helmv2.HelmReleaseStatus {
	var statuses []helmv2.HelmReleaseStatus
	for _, event := range events {
		statuses = append(statuses, event.Status)
		if event.Status.ObservedGeneration == 1 {
			break
		}
	}
	return statuses
}

// forGeneration turns a status that was recorded at generation 1 into one of
// another generation.
func forGeneration(status helmv2.HelmReleaseStatus, generation int64) helmv2.HelmReleaseStatus {
	out := *status.DeepCopy()
	shift := func(n *int64) {
		if *n > 0 {
			*n += generation - 1
		}
	}
	shift(&out.ObservedGeneration)
	shift(&out.LastAttemptedGeneration)
	for i := range out.Conditions {
		shift(&out.Conditions[i].ObservedGeneration)
	}
	return out
}
