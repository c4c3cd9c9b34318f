// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// unreadyAfter is how long nothing may be reported before the agent says that
// it is not ready (P9): two intervals where those are longer.
const unreadyAfter = 60 * time.Second

// health is what the readiness check knows of the reporter.
type health struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	running    bool
	superseded bool
	interval   time.Duration
	last       map[kind]time.Time
	reasons    map[kind]error
}

func newHealth(clock clock.PassiveClock) *health {
	return &health{clock: clock, last: map[kind]time.Time{}, reasons: map[kind]error{}}
}

// started begins the count: the reporter leads and has reported nothing yet.
func (h *health) started() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = true
	now := h.clock.Now()
	h.last[kindPods], h.last[kindDeployments] = now, now
}

// stopped tells that the reporter does not run any more.
func (h *health) stopped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running = false
}

// expect takes in how often a report is to come.
func (h *health) expect(interval time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.interval = interval
}

// isLate tells whether a kind has not been reported for too long.
func (h *health) isLate(k kind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.age(k) > h.limit()
}

func (h *health) age(k kind) time.Duration { return h.clock.Since(h.last[k]) }

func (h *health) limit() time.Duration { return max(unreadyAfter, 2*h.interval) }

// reported takes in how the report of a kind went: nil for success.
func (h *health) reported(k kind, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reasons[k] = err
	if err == nil {
		h.last[k] = h.clock.Now()
	}
}

// markSuperseded tells that another agent reports in this one's place, for good.
func (h *health) markSuperseded() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.superseded = true
}

// check is a healthz.Checker. An agent that does not lead is ready.
func (h *health) check(*http.Request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.superseded {
		return errors.New("another agent has taken over reporting this cluster")
	}
	if !h.running {
		return nil
	}
	var errs []error
	for _, k := range []kind{kindPods, kindDeployments} {
		if age := h.age(k); age > h.limit() {
			errs = append(errs, fmt.Errorf("%s have not been reported for %s: %w", k, age.Round(time.Second), reason(h.reasons[k])))
		}
	}
	return errors.Join(errs...)
}

func reason(err error) error {
	if err == nil {
		return errors.New("no report has been tried since")
	}
	return err
}
