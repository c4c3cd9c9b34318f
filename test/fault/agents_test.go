// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/styrmin/styrmin/test/system"
)

// TestP4TwoAgentsAtOnce is case B08: the one whose session is the newer reports,
// the other stops for good, and the rows never go back and forth.
func TestP4TwoAgentsAtOnce(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	agents := []*agent{
		s.startAgent(s.config, agentOptions{interval: quick}),
		s.startAgent(s.config, agentOptions{interval: quick}),
	}
	s.shown(startWithin, stays, changes, goes, shop)
	shownAt := time.Now()
	superseded := func() (n int) {
		for _, agent := range agents {
			n += int(agent.metric("superseded"))
		}
		return n
	}
	s.eventually(returnBound, "one of them stops", func() bool { return superseded() == 1 })
	s.detected("a second agent", time.Since(shownAt), returnBound)

	s.setPod(changes, "CrashLoopBackOff")
	s.deletePod(goes)
	s.setDeployment(failed)
	s.shown(goOnBound, stays, changes, goes, shop)
	if n := superseded(); n != 1 {
		t.Errorf("%d of two agents have stopped, want 1", n)
	}
	told := false
	for _, agent := range agents {
		told = told || agent.log.tells("ANOTHER AGENT HAS TAKEN OVER")
	}
	if !told {
		t.Error("No log tells that an agent has stopped for good")
	}
}

// startManager starts the manager's program with the reporter alone, and more flags.
func (s *scenario) startManager(flags ...string) *system.Process {
	s.t.Helper()
	kubeconfig := filepath.Join(s.t.TempDir(), "kubeconfig")
	s.must(os.WriteFile(kubeconfig, shared.env.KubeConfig, 0o600))
	manager, err := s.server.StartAgent("manager", programs.manager, append([]string{
		"--kubeconfig", kubeconfig,
		"--server-address", s.gateway.URL,
		"--token-file", s.server.AgentTokenFile,
		"--namespaces", s.namespace,
		"--report-interval", quick.String(),
		"--disable", "operator,worker", // The gateway is for reports.
		"--health-probe-bind-address", "0",
	}, flags...)...)
	s.must(err)
	s.t.Cleanup(manager.Kill)
	return manager
}

// TestP2AnAgentThatWasStoppedForLong stops a real process and lets it go on: what
// it had read before is old then, though to itself no time has passed. The second
// time another agent has taken its place meanwhile (case H04).
func TestP2AnAgentThatWasStoppedForLong(t *testing.T) {
	t.Parallel()
	config := sharedConfig(t)
	s := newScenario(t, config)
	stays, changes, goes, shop := s.shop()
	manager := s.startManager()
	s.shown(startWithin, stays, changes, goes, shop)
	before := map[subject]string{stays: "Running", changes: "Running", goes: "Running", shop: isRunning}

	s.must(syscall.Kill(manager.Pid(), syscall.SIGSTOP))
	stoppedAt := time.Now()
	s.setPod(changes, "CrashLoopBackOff")
	s.deletePod(goes)
	s.setDeployment(failed)
	s.eventually(time.Minute, "it has been stopped for long", func() bool { return time.Since(stoppedAt) > 30*time.Second })
	s.stillShows(before, stoppedAt)
	s.must(syscall.Kill(manager.Pid(), syscall.SIGCONT))
	resumedAt := time.Now()
	s.shown(2*goOnBound, stays, changes, goes, shop)
	s.detected("an agent that goes on", time.Since(resumedAt), goOnBound)

	s.must(syscall.Kill(manager.Pid(), syscall.SIGSTOP))
	reports := s.gateway.reports()
	replaced := reports[len(reports)-1].Variables.Report.SessionID
	s.startAgent(s.config, agentOptions{interval: quick})
	s.setPod(changes, "Running")
	s.setDeployment(isRunning)
	s.shown(startWithin, stays, changes, goes, shop)
	s.must(syscall.Kill(manager.Pid(), syscall.SIGCONT))
	resumedAt = time.Now()
	s.eventually(returnBound, "the one that was replaced is told so", func() bool { return s.refusals(replaced) > 0 })
	s.detected("an agent that was replaced", time.Since(resumedAt), returnBound)
	s.setPod(changes, "CrashLoopBackOff")
	s.shown(goOnBound, stays, changes, goes, shop)
	if n := s.refusals(replaced); n != 1 {
		t.Errorf("It was refused %d times, want once: it has to stop for good", n)
	}
	for _, report := range s.gateway.reports() {
		if report.Variables.Report.SessionID == replaced && report.applied && report.appliedAt.After(resumedAt) {
			t.Errorf("Report %d of the session that was replaced was applied", report.Variables.Report.Sequence)
		}
	}
}

// TestCaseH04TheNextLeaderTakesOver: a leader that dies without a word is followed by
// the one that waits, within a minute.
func TestCaseH04TheNextLeaderTakesOver(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	election := []string{"--leader-elect", "--leader-election-namespace", s.namespace}
	leader := s.startManager(election...)
	s.shown(startWithin, stays, changes, goes, shop)
	s.startManager(election...)
	s.setPod(changes, "CrashLoopBackOff")
	s.shown(startWithin, stays, changes, goes, shop)

	leader.Kill()
	s.deletePod(goes)
	s.setDeployment(failed)
	s.detected("a leader that died", s.shown(2*time.Minute, stays, changes, goes, shop), time.Minute)
	sessions := map[string]bool{}
	for _, report := range s.gateway.reports() {
		sessions[report.Variables.Report.SessionID] = true
	}
	delete(sessions, "") // The openings name none.
	if len(sessions) != 2 {
		t.Errorf("Reports came in %d sessions, want one of each leader", len(sessions))
	}
}

// refusals counts the reports of a session that were refused because another has
// taken its place.
func (s *scenario) refusals(session string) int {
	count := 0
	for _, report := range s.gateway.reports() {
		if report.Variables.Report.SessionID == session && report.answer != nil &&
			bytes.Contains(report.answer.body, []byte("SESSION_SUPERSEDED")) {
			count++
		}
	}
	return count
}
