// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// failureLogInterval is how often a failure that stays is logged.
const failureLogInterval = time.Minute

// failureLog logs the first of a row of failures, one a minute after that, and
// the recovery.
type failureLog struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	failures map[string]*failureRow
}

type failureRow struct {
	first, logged time.Time
	count         int
}

func newFailureLog(clock clock.PassiveClock) *failureLog {
	return &failureLog{clock: clock, failures: map[string]*failureRow{}}
}

// outcome takes in how an activity went, nil for success.
func (l *failureLog) outcome(log logr.Logger, activity string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.failures[activity]
	now := l.clock.Now()
	if err == nil {
		if row != nil {
			log.Info("Recovered", "activity", activity, "failures", row.count, "after", now.Sub(row.first).Round(time.Second).String())
			delete(l.failures, activity)
		}
		return
	}
	if row == nil {
		row = &failureRow{first: now}
		l.failures[activity] = row
	}
	row.count++
	if row.logged.IsZero() || now.Sub(row.logged) >= failureLogInterval {
		log.Error(err, "Failed", "activity", activity, "failures", row.count)
		row.logged = now
	}
}
