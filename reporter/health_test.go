// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestP9ReadinessFailsWhenNothingCanBeReportedForAMinute(t *testing.T) {
	for name, tc := range map[string]struct {
		happens   func(h *health, clock *clocktesting.FakeClock)
		wantError string
	}{
		"a replica that does not lead is ready": {
			happens: func(_ *health, clock *clocktesting.FakeClock) { clock.Step(time.Hour) },
		},
		"a minute of grace after the start": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				clock.Step(unreadyAfter)
			},
		},
		"nothing was reported since the start": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				clock.Step(unreadyAfter + time.Second)
			},
			wantError: "pods have not been reported for 1m1s",
		},
		"both kinds are reported": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				for range 10 {
					clock.Step(30 * time.Second)
					h.reported(kindPods, nil)
					h.reported(kindDeployments, nil)
				}
			},
		},
		"one kind cannot be reported, for want of a right (case H02)": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				for range 3 {
					clock.Step(30 * time.Second)
					h.reported(kindPods, nil)
					h.reported(kindDeployments, errTest)
				}
			},
			wantError: "styrmindeployments have not been reported for 1m30s: the test says so",
		},
		"reports are to come more rarely than that": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				h.expect(2 * time.Minute)
				clock.Step(4 * time.Minute)
			},
		},
		"and then do not come": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				h.expect(2 * time.Minute)
				h.reported(kindPods, nil)
				h.reported(kindDeployments, nil)
				clock.Step(4*time.Minute + time.Second)
			},
			wantError: "pods have not been reported for 4m1s: no report has been tried since",
		},
		"it is mended": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				clock.Step(time.Hour)
				h.reported(kindPods, nil)
				h.reported(kindDeployments, nil)
			},
		},
		"it leads no more": {
			happens: func(h *health, clock *clocktesting.FakeClock) {
				h.started()
				clock.Step(time.Hour)
				h.stopped()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(testStart)
			h := newHealth(clock)
			tc.happens(h, clock)
			err := h.check(nil)
			if tc.wantError == "" && err != nil {
				t.Errorf("It is not ready: %v", err)
			}
			if tc.wantError != "" && (err == nil || !strings.Contains(err.Error(), tc.wantError)) {
				t.Errorf("error = %v, want one with %q", err, tc.wantError)
			}
		})
	}
}
