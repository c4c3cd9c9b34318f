// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

func TestClustersTellHowTheirAgentsAre(t *testing.T) {
	s := newStage(t)
	_, _, err := s.store.CreateCluster(t.Context(), "empty")
	s.must(err)
	s.wantText(s.get(server.RoleViewer, "/clusters"), "NO AGENT YET", "NO REPORT YET")

	s.runShop()
	got := s.get(server.RoleViewer, "/clusters")
	s.wantText(got, "REPORTING", "agent-0", "1.4.0", "kube-north", "data 2 s old when sent", `<td class="n">1</td><td class="n">4</td>`)
	s.wantNoText(got, "superseded", "Contention")

	s.clock.Advance(61 * time.Second)
	s.wantText(s.get(server.RoleViewer, "/clusters"), "SILENT")

	s.report, s.sequence = s.openSession(s.site, "agent-1"), 0
	s.reports(seen{})
	got = s.get(server.RoleViewer, "/clusters")
	s.wantText(got, "REPORTING", "agent-1", "superseded</b> agent-0, ")
	reload := s.get(server.RoleViewer, s.reloadOf(got), "HX-Request", "true")
	s.wantText(reload, `<span id="r-`+s.cluster.ID+`" hx-swap-oob="true">`)
	s.wantNoText(reload, "<table")

	for _, agent := range []string{"agent-0", "agent-1", "agent-0"} {
		s.openSession(s.site, agent)
	}
	s.wantText(s.get(server.RoleViewer, "/clusters"), "Contention", "two agents may be reporting this cluster")
}

func TestWithoutClustersThePageSaysWhatToDo(t *testing.T) {
	s := newStage(t)
	content, _ := lister{clock: clock{s.clock.Now()}, timeout: time.Minute}.overview(filter{}, nil)
	s.want("whether there are none", true, content.NoClusters)
}
