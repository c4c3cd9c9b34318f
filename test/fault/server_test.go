// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// answering makes a harm that answers in the server's place.
func answering(status int, contentType, text string) func(*gateway) harm {
	return func(*gateway) harm {
		return func(w http.ResponseWriter, _ *http.Request, _ *report) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
}

// TestP5WhatTheServerAnswersIsNotAlwaysAnAnswer is cases B04 and B05 with the
// whole way: after each harm the next report is of the newest state, whole, and
// nothing that failed was taken for done.
func TestP5WhatTheServerAnswersIsNotAlwaysAnAnswer(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(s.config, agentOptions{interval: quick, requestTimeout: 4 * time.Second})
	s.shown(startWithin, stays, changes, goes, shop)
	const payload = `{"data":{"reportPodStatuses":null,"reportDeploymentStatuses":null},"errors":[{"message":"db down"}]}`
	for i, tc := range []struct {
		name string
		harm func(*gateway) harm
	}{
		{"errors in a 200", answering(http.StatusOK, "application/json", payload)},
		{"null data in a 200", answering(http.StatusOK, "application/json", `{"data":null}`)},
		{"HTML in a 200", answering(http.StatusOK, "text/html", "<html>Please sign in</html>")},
		{"HTML in a 502", answering(http.StatusBadGateway, "text/html", "<html>Bad gateway</html>")},
		{"half an answer to what was applied", halfAnswers},
		{"no answer at all", func(*gateway) harm {
			return func(_ http.ResponseWriter, r *http.Request, _ *report) { <-r.Context().Done() }
		}},
		{"an answer that comes late", lateAnswers},
	} {
		s.step(tc.name, func() {
			failures := func() float64 {
				return agent.metric("reports_total", "pods") - agent.metric("reports_total", "pods", "success")
			}
			was := failures()
			s.gateway.do(tc.harm(s.gateway))
			s.setPod(changes, fmt.Sprintf("Harmed%d", i))
			comes := s.createPod(fmt.Sprintf("comes-%d", i))
			s.eventually(2*time.Minute, "reports fail", func() bool { return failures() >= was+2 })
			s.gateway.do(nil)
			healedAt := time.Now()
			s.deletePod(goes)
			s.shown(2*returnBound, stays, changes, goes, comes, shop)
			s.detected("the end of "+tc.name, time.Since(healedAt), returnBound)
			// The next harm comes after a whole snapshot: until then the agent goes on
			// backing off.
			reported := agent.metric("reports_total", "styrmindeployments", "success")
			s.eventually(returnBound, "a whole snapshot is reported", func() bool {
				return agent.metric("reports_total", "styrmindeployments", "success") > reported
			})
			goes = comes
		})
	}
}

// halfAnswers lets reports pass and cuts their answers in the middle.
func halfAnswers(g *gateway) harm {
	return func(w http.ResponseWriter, r *http.Request, report *report) {
		if err := g.pass(context.WithoutCancel(r.Context()), report); err != nil {
			g.t.Errorf("The server does not answer: %v", err)
			return
		}
		report.answer.write(w, bytes.IndexByte(report.answer.body, ':')+1)
	}
}

// lateAnswers lets reports pass and keeps the answers for longer than the agent
// waits.
func lateAnswers(g *gateway) harm {
	return func(_ http.ResponseWriter, r *http.Request, report *report) {
		if err := g.pass(context.WithoutCancel(r.Context()), report); err != nil {
			g.t.Errorf("The server does not answer: %v", err)
		}
		<-r.Context().Done()
	}
}

// TestP5ASlowServerAndOneThatHangs: slow answers are answers; a server that
// hangs, and then goes on with what had reached it, tells nothing false.
func TestP5ASlowServerAndOneThatHangs(t *testing.T) {
	t.Parallel()
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	agent := s.startAgent(s.config, agentOptions{interval: quick, requestTimeout: 4 * time.Second})
	s.shown(startWithin, stays, changes, goes, shop)

	s.gateway.do(func(w http.ResponseWriter, r *http.Request, report *report) {
		select {
		case <-time.After(2 * time.Second):
			s.gateway.unharmed(w, r, report)
		case <-r.Context().Done():
		}
	})
	s.setPod(changes, "CrashLoopBackOff")
	s.setDeployment(failed)
	s.detected("a change with a slow server", s.shown(2*frozenBound, stays, changes, goes, shop), frozenBound)
	s.gateway.do(nil)

	server := s.server.ServerProcess().Pid()
	stoppedAt := time.Now()
	s.gateway.between(func() { s.must(syscall.Kill(server, syscall.SIGSTOP)) })
	timeouts := agent.metric("reports_total", "timeout")
	s.deletePod(goes)
	s.setPod(changes, "Running")
	s.setDeployment(isRunning)
	s.eventually(2*time.Minute, "reports time out", func() bool { return agent.metric("reports_total", "timeout") >= timeouts+3 })
	s.must(syscall.Kill(server, syscall.SIGCONT))
	healedAt := time.Now()
	s.eventually(2*returnBound, "the server shows what is so", func() bool {
		v, err := look(t.Context(), s.server, s.namespace)
		if err != nil {
			return false
		}
		// What it had been sent while it hung is of then.
		lies := append(s.truth.lies(pods, v, stoppedAt.Add(-maxTransit)), s.truth.lies(deployments, v, stoppedAt.Add(-maxTransit))...)
		if len(lies) > 0 {
			t.Fatal(lies)
		}
		return s.isTold(v, stays, changes, goes, shop)
	})
	s.detected("the end of a server that hung", time.Since(healedAt), returnBound)
}
