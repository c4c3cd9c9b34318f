// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/watch"
)

// event is one watch event of a HelmRelease.
type event struct {
	kind   watch.EventType
	object helmv2.HelmRelease
}

// readRecording reads the watch events that were recorded from a real Flux.
func readRecording(t *testing.T, name string) []event {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "recordings", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var events []event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var kind struct {
			SeenEvent watch.EventType `json:"seenEvent"`
		}
		e := event{}
		if err := json.Unmarshal(lines.Bytes(), &kind); err != nil {
			t.Fatalf("Read %s: %v", name, err)
		}
		if err := json.Unmarshal(lines.Bytes(), &e.object); err != nil {
			t.Fatalf("Read %s: %v", name, err)
		}
		e.kind = kind.SeenEvent
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("Read %s: %v", name, err)
	}
	return events
}

// isUserAction reports whether an event shows what a person did, not what the controller did.
func isUserAction(before *event, e event) bool {
	if e.kind == watch.Added {
		return true
	}
	return before != nil && e.kind == watch.Modified &&
		(before.object.DeletionTimestamp.IsZero() != e.object.DeletionTimestamp.IsZero() ||
			!equality.Semantic.DeepEqual(before.object.Spec, e.object.Spec) ||
			!equality.Semantic.DeepEqual(before.object.Annotations, e.object.Annotations) ||
			!equality.Semantic.DeepEqual(before.object.Labels, e.object.Labels))
}

// state is what of an event has to be the same in every run: no times, ids, digests or resource versions.
type state struct {
	Event         watch.EventType
	Generation    int64
	Deleting      bool
	Finalizer     bool
	Observed      int64
	LastAttempted int64
	Conditions    []string
	History       []string
	Failures      []int64
	HelmChart     string
	Action        helmv2.ReleaseAction
	Inventory     int
}

func stateOf(e event) state {
	status := e.object.Status
	s := state{
		Event:         e.kind,
		Generation:    e.object.Generation,
		Deleting:      !e.object.DeletionTimestamp.IsZero(),
		Finalizer:     len(e.object.Finalizers) > 0,
		Observed:      status.ObservedGeneration,
		LastAttempted: status.LastAttemptedGeneration,
		Failures:      []int64{status.Failures, status.InstallFailures, status.UpgradeFailures},
		HelmChart:     status.HelmChart,
		Action:        status.LastAttemptedReleaseAction,
	}
	if status.Inventory != nil {
		s.Inventory = len(status.Inventory.Entries)
	}
	for _, c := range status.Conditions {
		s.Conditions = append(s.Conditions, fmt.Sprintf("%s=%s/%s@%d %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, stableMessage(c.Message)))
	}
	slices.Sort(s.Conditions)
	for _, h := range status.History {
		s.History = append(s.History, fmt.Sprintf("%s.v%d %s %s", h.Name, h.Version, h.Status, h.ChartVersion))
	}
	return s
}

var (
	timeoutText = regexp.MustCompile(`timeout of \S+`)
	// failureText is the part of a failure that depends on how far the cluster had come.
	failureText = regexp.MustCompile(`(failed for release \S+ with chart \S+|is not ready): (?s:.*)`)
	ownFailures = regexp.MustCompile(`(failed early due to stalled resources|failed pre-install|executing "\S+" at)`)
)

// stableMessage cuts from a message what differs between runs. The kinds of failure that Helm names itself stay.
func stableMessage(message string) string {
	message = timeoutText.ReplaceAllString(message, "timeout")
	if kinds := ownFailures.FindAllString(message, -1); len(kinds) > 0 {
		return failureText.ReplaceAllString(message, "$1: "+strings.Join(kinds, " "))
	}
	return failureText.ReplaceAllString(message, "$1")
}

// appendState appends the event's state unless it tells nothing new.
func appendState(states []state, e event) []state {
	s := stateOf(e)
	if len(states) > 0 && equality.Semantic.DeepEqual(states[len(states)-1], s) {
		return states
	}
	return append(states, s)
}
