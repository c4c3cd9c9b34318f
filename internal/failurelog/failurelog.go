// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package failurelog keeps a failure that stays from filling the log.
package failurelog

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// interval is how often a failure that stays is logged.
const interval = time.Minute

// Log logs the first of a row of failures, one a minute after that, and
// the recovery.
type Log struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	failures map[string]*row
}

type row struct {
	first, logged time.Time
	count         int
}

// New returns an empty log that tells the time by the clock.
func New(clock clock.PassiveClock) *Log {
	return &Log{clock: clock, failures: map[string]*row{}}
}

// Outcome takes in how an activity went, nil for success.
func (l *Log) Outcome(log logr.Logger, activity string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	failing := l.failures[activity]
	now := l.clock.Now()
	if err == nil {
		if failing != nil {
			log.Info("Recovered", "activity", activity, "failures", failing.count, "after", now.Sub(failing.first).Round(time.Second).String())
			delete(l.failures, activity)
		}
		return
	}
	if failing == nil {
		failing = &row{first: now}
		l.failures[activity] = failing
	}
	failing.count++
	if failing.logged.IsZero() || now.Sub(failing.logged) >= interval {
		log.Error(err, "Failed", "activity", activity, "failures", failing.count)
		failing.logged = now
	}
}
