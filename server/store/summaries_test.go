// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

func TestSummariesCountThePodsOfEachDeployment(t *testing.T) {
	onEach(t, func(w *world) {
		shop := object("shop")
		shop.Components = []server.ComponentStatus{{Name: "server", Desired: 3}, {Name: "database", Desired: 1}}
		w.deployments(shop, object("blog"))
		waiting, done := pod("b"), pod("c")
		waiting.Ready = false
		done.Phase, done.Ready = "Succeeded", false
		w.pods(whole("prod-shop", "d", pod("a"), waiting, done))
		w.deployments(shop, object("blog"))

		summaries, err := w.store.DeploymentSummaries(w.Context(), false)
		w.must(err)
		w.want("the summaries", []server.DeploymentSummary{
			{Deployment: w.deployment("uid-blog")},
			{Deployment: w.deployment("uid-shop"), ReadyPods: 1, LivePods: 2, DesiredPods: 4},
		}, summaries)

		w.deployments(shop)
		summaries, err = w.store.DeploymentSummaries(w.Context(), true)
		w.must(err)
		w.want("the deleted ones", []server.DeploymentSummary{{Deployment: w.deployment("uid-blog")}}, summaries)
	})
}

func TestAgentSessionsTellWhoReportedBefore(t *testing.T) {
	onEach(t, func(w *world) {
		agents := func(since time.Time) []string {
			sessions, err := w.store.AgentSessions(w.Context(), since)
			w.must(err)
			agents := make([]string, len(sessions))
			for i, session := range sessions {
				agents[i] = session.AgentID
			}
			return agents
		}
		w.clock.Advance(time.Hour)
		w.open("kube-c1", "agent-1")
		w.want("all sessions of two hours", []string{"agent-1", "agent-0"}, agents(w.clock.Now().Add(-2*time.Hour)))
		later := w.clock.Advance(24 * time.Hour)
		w.want("a day later", []string{"agent-1"}, agents(later.Add(-time.Hour)))
	})
}
