// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// skewedClock is ahead of the real one, or behind it.
type skewedClock struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *skewedClock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

func (c *skewedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// skewOf is by how much a clock was ahead that has just shown this: by whole
// minutes. A report that was sent before the clock jumped may arrive after it.
func skewOf(shown time.Time) time.Duration { return time.Until(shown).Round(time.Minute) }

// TestP2TheAgentsClockIsWrong is case D06 on the whole way: what counts is how
// old the data is, and not what the agent's clock shows.
func TestP2TheAgentsClockIsWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		ahead, jump time.Duration
	}{
		"it is behind":                    {ahead: -7 * time.Minute},
		"it is ahead":                     {ahead: 2 * time.Hour},
		"it jumps ahead while it reports": {jump: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScenario(t, sharedConfig(t))
			wrong := &skewedClock{}
			wrong.ahead.Store(int64(tc.ahead))
			s.skew = skewOf
			stays, changes, goes, shop := s.shop()
			s.startAgent(s.config, agentOptions{interval: quick, clock: wrong})
			s.shown(startWithin, stays, changes, goes, shop)

			wrong.ahead.Add(int64(tc.jump))
			s.setPod(changes, "CrashLoopBackOff")
			s.deletePod(goes)
			s.setDeployment(failed)
			s.detected("a change told by a wrong clock", s.shown(2*goOnBound, stays, changes, goes, shop), goOnBound)
			s.eventually(goOnBound, "what is shown is taken for current", func() bool {
				v, err := look(t.Context(), s.server, s.namespace)
				s.must(err)
				if v.Cluster.LastReportAt.After(time.Now()) {
					t.Errorf("The last report came at %s, which is yet to come", v.Cluster.LastReportAt)
				}
				return time.Since(v.freshUntil()) < goOnBound
			})
		})
	}
}
