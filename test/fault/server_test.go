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

// only makes a harm happen to one half of the reports.
func only(half half, harmful func(*gateway) harm) func(*gateway) harm {
	return func(g *gateway) harm {
		harm := harmful(g)
		return func(w http.ResponseWriter, r *http.Request, report *report) {
			if report.OperationName == half {
				harm(w, r, report)
			} else {
				g.unharmed(w, r, report)
			}
		}
	}
}

// forgotten answers reports as a server does that does not know their session. What
// becomes of the opening of another is up to opening.
func forgotten(opening harm) harm {
	const unknown = `{"data":null,"errors":[{"message":"no such session","extensions":{"code":"SESSION_UNKNOWN"}}]}`
	return func(w http.ResponseWriter, r *http.Request, report *report) {
		if report.OperationName == pods || report.OperationName == deployments {
			answering(http.StatusOK, "application/json", unknown)(nil)(w, r, report)
			return
		}
		opening(w, r, report)
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
		{"half an answer to pods that were applied", halfAnswers},
		{"half an answer to deployments that were applied", only(deployments, halfAnswers)},
		{"HTML in a 200 to the opening of a session", func(g *gateway) harm {
			return forgotten(answering(http.StatusOK, "text/html", "<html>Please sign in</html>")(g))
		}},
		{"no answer at all", func(*gateway) harm {
			return func(_ http.ResponseWriter, r *http.Request, _ *report) { <-r.Context().Done() }
		}},
		{"an answer that comes late", lateAnswers},
	} {
		s.step(tc.name, func() {
			failures := func() float64 {
				return agent.metric("reports_total") - agent.metric("reports_total", "success")
			}
			was := failures()
			s.gateway.do(tc.harm(s.gateway))
			s.setPod(changes, fmt.Sprintf("Harmed%d", i))
			comes := s.createPod(fmt.Sprintf("comes-%d", i))
			s.setDeployment([]string{failed, deploying, isRunning}[i%3])
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
	s.detected("a change with a slow server", s.shown(2*goOnBound, stays, changes, goes, shop), goOnBound)
	s.gateway.do(nil)

	server := s.server.ServerProcess().Pid()
	s.gateway.between(func() { s.must(syscall.Kill(server, syscall.SIGSTOP)) })
	timeouts := agent.metric("reports_total", "timeout")
	s.deletePod(goes)
	s.setPod(changes, "Running")
	s.setDeployment(isRunning)
	s.eventually(2*time.Minute, "reports time out", func() bool { return agent.metric("reports_total", "timeout") >= timeouts+3 })
	s.must(syscall.Kill(server, syscall.SIGCONT))
	healedAt := time.Now()
	s.eventually(2*returnBound, "the server shows what is so", func() bool {
		var v *view
		var err error
		// In the middle of a report its parts may be of different moments.
		s.gateway.between(func() { v, err = look(t.Context(), s.server, s.namespace) })
		if err != nil {
			return false
		}
		// A report that was given up while the server hung must not make what is shown
		// look current.
		provenAt := v.freshUntil().Add(-maxTransit)
		lies := append(s.truth.lies(pods, v, provenAt), s.truth.lies(deployments, v, provenAt)...)
		if len(lies) > 0 {
			t.Fatal(lies)
		}
		return s.isTold(v, stays, changes, goes, shop)
	})
	s.detected("the end of a server that hung", time.Since(healedAt), returnBound)
}
