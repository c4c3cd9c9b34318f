// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

func TestTheOverviewTellsProblemsFirst(t *testing.T) {
	s, _, _ := everyday(t)
	got := s.get(server.RoleViewer, "/")
	s.wantText(got, "1 of 12 deployments has failed", "Agent silent", "No report from the agent of <strong>edge</strong> since",
		"last known", "<i>internal</i>", "> 4/6<")
	s.want("the order", []string{
		"checkout", "kiosk", "signage", "shop", "catalog", "ingress", "invoices", "mail", "reports", "search", "sessions", "warehouse",
	}, s.rowsOf(got))
}

func TestTheOverviewIsFilteredByItsAddress(t *testing.T) {
	s, _, _ := everyday(t)
	for name, tt := range map[string]struct {
		query string
		want  []string
	}{
		"a status":                {"status=FAILED", []string{"checkout"}},
		"an environment":          {"env=prod", []string{"checkout", "shop"}},
		"words of the name":       {"q=SHO", []string{"shop"}},
		"words of the message":    {"q=timed+out+helm", []string{"checkout"}},
		"a cluster":               {"q=south", []string{"reports", "warehouse"}},
		"all words must be there": {"q=south+ware", []string{"warehouse"}},
		"all of them together":    {"q=shop&status=RUNNING&env=prod", []string{}},
		"a status that is none":   {"status=BOGUS&q=kiosk", []string{"kiosk"}},
		"what nothing has":        {"q=%3Cscript%3E", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.get(server.RoleViewer, "/?"+tt.query)
			s.want("the rows", tt.want, s.rowsOf(got))
			s.wantNoText(got, "<script>")
			if len(tt.want) == 0 {
				s.wantText(got, "Nothing matches", "Show all deployments")
				s.wantNoText(got, "Nothing is deployed")
			}
		})
	}
	s.wantText(s.get(server.RoleViewer, "/?q=checkout"), "The deployment that matches has failed")
	s.wantText(s.get(server.RoleViewer, "/?status=FAILED"), `href="/" id="only-FAILED" class="bad" aria-current="true"`, "<option selected>FAILED")
}

func TestAnEmptyOverviewSaysWhatToDo(t *testing.T) {
	s := newStage(t)
	s.wantText(s.get(server.RoleViewer, "/"), "No deployments yet", "styrminctl deployments apply", "no report yet")
}

// TestAnAgentThatHasComeAndReportsNothingIsSilent: its session is open, and then it
// ended, or may not list one of the kinds.
func TestAnAgentThatHasComeAndReportsNothingIsSilent(t *testing.T) {
	s := newStage(t)
	s.clock.Advance(61 * time.Second)
	for _, address := range []string{"/", "/clusters"} {
		s.want("the status of "+address, http.StatusOK, s.get(server.RoleViewer, address).Code)
	}
	s.wantText(s.get(server.RoleViewer, "/"), "Agent silent", "<strong>north</strong> has come, and has not reported the whole cluster yet")
	s.wantText(s.get(server.RoleViewer, "/clusters"), "SILENT", "never")
}

// TestWhenAClusterReportedIsNotToldByWhatIsDeleted: the list of deleted deployments
// holds none that is in its newest report.
func TestWhenAClusterReportedIsNotToldByWhatIsDeleted(t *testing.T) {
	s := newStage(t)
	s.reports(seen{objects: []server.DeploymentStatus{s.object("blog"), s.object("shop")}})
	s.reports(seen{objects: []server.DeploymentStatus{s.object("shop")}})
	s.clock.Advance(20 * day)
	s.reports(seen{objects: []server.DeploymentStatus{s.object("shop")}})
	got := s.get(server.RoleViewer, "/?status=DELETED")
	s.want("the deleted ones", []string{"blog"}, s.rowsOf(got))
	_, reports, _ := strings.Cut(got.body, `aria-label="Last reports of the clusters"`)
	reports, _, _ = strings.Cut(reports, "</ul>")
	if !strings.Contains(reports, ">0 s</time> ago") {
		t.Errorf("the cluster reported: %s", reports)
	}
	s.wantText(got, "20 d</time>")
}

func TestDeletedDeploymentsAreShownWhenAskedFor(t *testing.T) {
	s := newStage(t)
	s.reports(seen{objects: []server.DeploymentStatus{s.object("blog"), s.object("shop")}})
	s.reports(seen{objects: []server.DeploymentStatus{s.object("shop")}})
	s.want("the rows", []string{"shop"}, s.rowsOf(s.get(server.RoleViewer, "/")))
	got := s.get(server.RoleViewer, "/?status=DELETED")
	s.want("the deleted ones", []string{"blog"}, s.rowsOf(got))
	s.wantText(got, "1 deleted", "DELETED")
}

func TestAReloadWithoutChangesBringsTheReportsAlone(t *testing.T) {
	s, _, _ := everyday(t)
	first := s.get(server.RoleViewer, "/?env=prod")
	reload := s.reloadOf(first)
	same := s.get(server.RoleViewer, reload, "HX-Request", "true")
	s.want("what is swapped", "none", same.Header().Get("HX-Reswap"))
	s.wantText(same, `id="live" hx-swap-oob="true"`, `id="clock"`)
	s.wantNoText(same, "<table", "<html")
	north := newScene(s)
	north.healthy("search", 3)
	north.pass(5 * time.Second)
	changed := s.get(server.RoleViewer, s.reloadOf(s.get(server.RoleViewer, "/")), "HX-Request", "true")
	s.want("what is swapped", "none", changed.Header().Get("HX-Reswap"))
	news := s.get(server.RoleViewer, reload, "HX-Request", "true")
	s.want("what is swapped after a change", "", news.Header().Get("HX-Reswap"))
	s.wantText(news, "<table", `id="live" hx-swap-oob="true"`, "not found in the cluster")
	s.wantNoText(news, "<html", "<form")
}

// reloadOf is where a page asks for news.
func (s *stage) reloadOf(got answerOf) string {
	s.Helper()
	_, rest, found := strings.Cut(got.body, `id="content" hx-get="`)
	address, _, _ := strings.Cut(rest, `"`)
	if !found || address == "" {
		s.Fatalf("the page does not reload: %.2000s", got.body)
	}
	return strings.ReplaceAll(address, "&amp;", "&")
}

// thousand is a cluster of a thousand deployments, of which some have failed.
func thousand(t testing.TB) *stage {
	s := newStage(t)
	message := "Helm upgrade failed: timed out waiting for the condition"
	what := seen{pods: map[string][]server.PodStatus{}}
	for i := range 1000 {
		object := s.object(fmt.Sprintf("service-%04d", i))
		object.Components = []server.ComponentStatus{{Name: "server", Desired: 3, Ready: 3, State: "Running"}}
		if i%50 == 0 {
			object.DisplayState, object.Message = "Error", &message
		}
		what.objects = append(what.objects, object)
		for j := range 3 {
			what.pods[*object.TargetNamespace] = append(what.pods[*object.TargetNamespace], s.pod(fmt.Sprintf("%s-%d", object.Name, j)))
		}
	}
	s.reports(what)
	s.reports(what)
	return s
}

// The speed that the page promises, in bytes that travel.
const (
	maxPageBytes   = 300 << 10
	maxReloadBytes = 5 << 10
)

func TestAThousandDeploymentsAreALightPage(t *testing.T) {
	s := thousand(t)
	whole := s.get(server.RoleViewer, "/", "Accept-Encoding", "gzip")
	plain := s.get(server.RoleViewer, "/")
	s.want("the rows", 1000, len(s.rowsOf(plain)))
	s.wantText(plain, "20 of 1000 deployments have failed")
	if size := whole.Body.Len(); size > maxPageBytes || size == 0 {
		t.Errorf("the page weighs %d bytes", size)
	}
	reload := s.get(server.RoleViewer, s.reloadOf(plain), "HX-Request", "true")
	if size := reload.Body.Len(); size > maxReloadBytes || size == 0 {
		t.Errorf("a reload without changes weighs %d bytes", size)
	}
	t.Logf("the page weighs %d bytes (%d unpacked), a reload without changes %d", whole.Body.Len(), plain.Body.Len(), reload.Body.Len())
}

// BenchmarkOverview answers the list of a thousand deployments.
func BenchmarkOverview(b *testing.B) {
	s := thousand(b)
	measured(b, func() { s.get(server.RoleViewer, "/", "Accept-Encoding", "gzip") })
}
