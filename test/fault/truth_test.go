// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// absent is what is shown of an object that is not there.
const absent = "absent"

// subject is an object of the cluster and the row that shows it.
type subject struct {
	// half is the operation that reports it.
	half half
	name string
}

// half is the operation that reports one kind.
type half string

const (
	pods        half = "ReportPodStatuses"
	deployments half = "ReportDeploymentStatuses"
)

// change is what became of an object, and when: it took effect between the two
// times.
type change struct {
	began, ended time.Time
	value        string
	// through is what the object is for a moment on the way there.
	through []string
}

// truth is what was really done to the cluster, by subject, in order.
type truth struct {
	mu      sync.Mutex
	changes map[subject][]change
}

// does carries out a change and keeps when it was and what it came to.
func (tr *truth) does(s subject, value string, act func() error, through ...string) error {
	tr.mu.Lock()
	at := len(tr.changes[s])
	tr.changes[s] = append(tr.changes[s], change{began: time.Now(), ended: never, value: value, through: through})
	tr.mu.Unlock()
	if err := act(); err != nil {
		return fmt.Errorf("making %s %s: %w", s.name, value, err)
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.changes[s][at].ended = time.Now()
	return nil
}

// never is later than all there is.
var never = time.Unix(1<<40, 0)

// now returns what the subject is.
func (tr *truth) now(s subject) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if changes := tr.changes[s]; len(changes) > 0 {
		return changes[len(changes)-1].value
	}
	return absent
}

// since returns when the newest change of the subject was done.
func (tr *truth) since(s subject) time.Time {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	changes := tr.changes[s]
	return changes[len(changes)-1].ended
}

// lies returns what a view tells that was not so at any time from provenAt on:
// the view is claimed to be of then, or of later. This is the heart of the suite.
// A row that is missing though its object was there at provenAt and is still, is
// a false deletion; one that shows what had been changed before provenAt is old
// state shown as new; a deployment that is RUNNING though it was not is false.
func (tr *truth) lies(half half, v *view, provenAt time.Time) []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var lies []string
	for s, changes := range tr.changes {
		if s.half != half {
			continue
		}
		shown := v.shows(s)
		if possible := valuesFrom(changes, provenAt); !slices.Contains(possible, shown) {
			lies = append(lies, fmt.Sprintf("%s is shown as %s, but from %s on it was %v",
				s.name, shown, provenAt.Format(time.StampMilli), possible))
		}
	}
	slices.Sort(lies)
	return lies
}

// valuesFrom returns what the changes made of a subject from that time on.
func valuesFrom(changes []change, from time.Time) []string {
	var values []string
	previous := absent
	for _, c := range changes {
		if c.ended.After(from) || c.ended.Equal(from) {
			values = append(append(values, previous), c.through...)
		}
		previous = c.value
	}
	return append(values, previous)
}

// TestWhatWasTrueSince: a suite that takes a lie for true finds none.
func TestWhatWasTrueSince(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	changes := []change{
		{began: at(10), ended: at(11), value: "Pending"},
		{began: at(20), ended: at(21), value: "Running"},
		{began: at(30), ended: at(31), value: absent, through: []string{terminating}},
	}
	for sentence, test := range map[string]struct {
		from int64
		want []string
	}{
		"before all changes":        {5, []string{absent, "Pending", "Running", terminating, absent}},
		"between two changes":       {15, []string{"Pending", "Running", terminating, absent}},
		"in the middle of a change": {20, []string{"Pending", "Running", terminating, absent}},
		"before the last":           {25, []string{"Running", terminating, absent}},
		"after the last":            {40, []string{absent}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, valuesFrom(changes, at(test.from))); diff != "" {
				t.Errorf("what it was since (-want +got):\n%s", diff)
			}
		})
	}
}
