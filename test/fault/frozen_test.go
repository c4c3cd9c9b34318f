// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"testing"
	"time"
)

// Bounds on how long after the harm, or after its end, the truth is shown. They
// hold with the product's own interval of 5 s, on a busy machine too.
const (
	// frozenBound is the one for a watch that is frozen: a proof each 7 s that takes
	// 3 s, a report each 5 s, a live list.
	frozenBound = 25 * time.Second
	// goOnBound is the one for what goes on beside a harm, or after it: a report each
	// 5 s, of which one may fail and be waited for.
	goOnBound = 45 * time.Second
	// returnBound is the one for an API server or a server that is back: what was
	// waited for at most, backing off, and a report.
	returnBound = 45 * time.Second
	// silenceBound is by when nothing may be reported that cannot be proven: the age
	// of a proof that still counts, a live list that hangs for one kind and then for
	// the other, a report each 5 s.
	silenceBound = 45 * time.Second
)

// shop sets up the objects that most scenarios have: a pod that runs, one that
// will change, one that will go, and a deployment that is RUNNING.
func (s *scenario) shop() (stays, changes, goes, shop subject) {
	s.t.Helper()
	stays, changes, goes = s.createPod("stays"), s.createPod("changes"), s.createPod("goes")
	for _, pod := range []subject{stays, changes, goes} {
		s.setPod(pod, "Running")
	}
	shop = s.createDeployment()
	s.setDeployment(isRunning)
	return stays, changes, goes, shop
}

// TestP2AWatchThatWorksIsProvenToAgainAndAgain, and nothing is listed in the
// informers' place.
func TestP2AWatchThatWorksIsProvenToAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(s.config, agentOptions{interval: quick})
	s.shown(startWithin, stays, changes, goes, shop)
	proven := func(kind string) float64 { return agent.metric("proofs_total", kind, "proven") }
	provenTwice := func() {
		wantPods, wantDeployments := proven("pods")+2, proven("styrmindeployments")+2
		s.eventually(2*time.Minute, "both kinds are proven current twice more", func() bool {
			return proven("pods") >= wantPods && proven("styrmindeployments") >= wantDeployments
		})
	}
	provenTwice() // The second proof began after what there was at the start.
	// On a busy machine a proof may fail, and then lists are right until the next one.
	s.eventually(5*time.Minute, "there are two proofs, and no live list", func() bool {
		lists := agent.metric("live_lists_total")
		provenTwice()
		return agent.metric("live_lists_total") == lists
	})
}

// TestP2AFrozenWatch is case B03: the connection of the watch is dead, and
// neither end knows.
func TestP2AFrozenWatch(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	proxy, config := newProxy(t, s.config)
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(config, agentOptions{}) // with the product's own interval
	s.shown(startWithin, stays, changes, goes, shop)

	proxy.freeze()
	s.setPod(changes, "CrashLoopBackOff")
	s.deletePod(goes)
	comes := s.createPod("comes")
	s.setDeployment(failed)
	s.detected("pods and a deployment behind a frozen watch", s.shown(2*frozenBound, stays, changes, goes, comes, shop), frozenBound)

	for _, kind := range []string{"pods", "styrmindeployments"} {
		// On a busy machine a proof may fail before one shows that it is frozen.
		s.eventually(frozenBound, "a metric tells that the watch of "+kind+" is frozen", func() bool {
			return agent.metric("proofs_total", kind, "frozen") > 0
		})
		if agent.metric("live_lists_total", kind, "success") == 0 {
			t.Errorf("No metric tells that %s were listed live", kind)
		}
	}
	if !agent.log.tells("Failed", "proving that the informer of pods is current") {
		t.Error("No log tells that the informer is not current")
	}

	// What the lists went by may be frozen next.
	proxy.freeze()
	s.setPod(changes, "Running")
	s.setDeployment(isRunning)
	s.detected("what changed behind connections that froze again", s.shown(2*frozenBound, stays, changes, goes, comes, shop), frozenBound)
}

// TestP2ASessionIsOpenedBehindAFrozenWatch: opening one, which reads the cluster's
// UID, does not go by a connection that the informers use.
func TestP2ASessionIsOpenedBehindAFrozenWatch(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	proxy, config := newProxy(t, s.config)
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(config, agentOptions{interval: quick})
	s.shown(startWithin, stays, changes, goes, shop)

	proxy.freeze()
	s.gateway.do(forgotten(s.gateway.unharmed))
	s.setPod(changes, "CrashLoopBackOff")
	s.setDeployment(failed)
	s.eventually(frozenBound, "a report is refused", func() bool { return agent.metric("reports_total", "refused") > 0 })
	s.gateway.do(nil)
	s.detected("what changed before another session", s.shown(2*frozenBound, stays, changes, goes, shop), frozenBound)
}

// TestP2ANetworkThatDropsEverything: no connection, old or new, brings anything,
// and none ends. Nothing can be proven, so nothing is told.
func TestP2ANetworkThatDropsEverything(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	proxy, config := newProxy(t, s.config)
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(config, agentOptions{interval: quick})
	s.shown(startWithin, stays, changes, goes, shop)
	before := map[subject]string{stays: "Running", changes: "Running", goes: "Running", shop: isRunning}

	proxy.partition(true)
	harmedAt := time.Now()
	s.setPod(changes, "CrashLoopBackOff")
	s.deletePod(goes)
	s.upgrade("2.0.0")
	s.silence(agent, "the API server behind a network that drops everything", harmedAt)
	s.stillShows(before, harmedAt)
	if !agent.log.tells("Failed", "reporting pods") || !agent.log.tells("Failed", "reporting styrmindeployments") {
		t.Error("No log tells that, and why, nothing is reported")
	}

	proxy.partition(false)
	healedAt := time.Now()
	s.shown(2*returnBound, stays, changes, goes, shop)
	s.detected("a network that works again", time.Since(healedAt), returnBound)
}

// silence waits until both kinds are left out of reports, and makes sure that it
// stays so.
func (s *scenario) silence(agent *agent, harm string, harmedAt time.Time) {
	s.t.Helper()
	unread := func() [2]float64 {
		return [2]float64{agent.metric("unread_total", "pods"), agent.metric("unread_total", "styrmindeployments")}
	}
	// more tells whether both have been left out so many times more since then.
	more := func(was [2]float64, times float64) func() bool {
		return func() bool {
			now := unread()
			return now[0] >= was[0]+times && now[1] >= was[1]+times
		}
	}
	s.eventually(2*silenceBound, "both kinds are left out", more(unread(), 1))
	s.detected(harm, time.Since(harmedAt), silenceBound)
	silentSince := time.Now()
	s.eventually(2*silenceBound, "both kinds are left out again and again", more(unread(), 2))
	for _, half := range []half{pods, deployments} {
		if n := s.gateway.appliedSince(half, silentSince); n > 0 {
			s.t.Errorf("%d times since then %s was sent", n, half)
		}
	}
}
