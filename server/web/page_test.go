// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/styrmin/styrmin/server"
)

// shows waits until the page says something.
func (t *tab) shows(text string) {
	t.Helper()
	t.WaitFor("document.body.innerText.includes(" + quoted(text) + ")")
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `\'`) + "'" }

// press sends a key to what has the focus.
func (t *tab) press(keys string) {
	t.Helper()
	t.Do(chromedp.KeyEvent(keys))
}

func TestInABrowserTextOfTheClusterRunsNothing(t *testing.T) {
	s := newStage(t)
	object := s.object("evil")
	text := hostile
	object.DisplayState, object.Message = "Error", &text
	object.Conditions = []server.Condition{{Type: hostile, Status: "False", Message: &text}}
	sick := s.crashing("sick", hostile)
	sick.Status = hostile
	s.reports(seen{objects: []server.DeploymentStatus{object}})
	s.reports(seen{objects: []server.DeploymentStatus{object}, pods: map[string][]server.PodStatus{*object.TargetNamespace: {sick}}})
	page := s.open(server.RoleAdmin)
	for _, address := range []string{"/", "/deployments/uid-evil"} {
		page.visit(address)
		page.shows(`<img src=x onerror=alert(1)>`)
		s.want("the images of "+address, "0", page.Value("document.images.length"))
		s.want("the scripts of "+address, "2", page.Value("document.scripts.length"))
	}
}

func TestInABrowserAChangeAppearsWithinTenSeconds(t *testing.T) {
	s := newStage(t)
	id, what := s.runShop()
	overview, detail := s.open(server.RoleViewer), s.open(server.RoleViewer)
	detail.visit("/deployments/" + id)
	detail.shows("RUNNING")
	overview.shows("The deployment runs")

	message := "the database is gone"
	what.objects[0].DisplayState, what.objects[0].Message = "Error", &message
	s.clock.Advance(5 * time.Second)
	s.reports(what)
	began := time.Now()
	detail.shows(message)
	overview.shows("The deployment has failed")
	// The page asks each 10 s; the rest, less than another 10 s, is for a busy machine.
	if took := time.Since(began); took > 19*time.Second {
		t.Errorf("it took %s", took)
	}
	s.want("what is said to a screen reader", "shop is FAILED", detail.Value("document.getElementById('said').textContent"))
}

func TestInABrowserAHiddenTabAsksNothing(t *testing.T) {
	s := newStage(t)
	s.runShop()
	asked := make(chan struct{}, 16)
	counted := s.handler
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Hx-Request") == "true" {
			asked <- struct{}{}
		}
		counted.ServeHTTP(w, r)
	})
	page := s.open(server.RoleViewer)
	page.Do(chromedp.Evaluate[chromedp.Void](`Object.defineProperty(document, "hidden", {configurable: true, value: true})`))
	for len(asked) > 0 { // It may have asked before it was hidden.
		<-asked
	}
	select {
	case <-asked:
		t.Error("a hidden tab asked for news")
	case <-time.After(11 * time.Second):
	}
	// No look by the clock is to be mistaken for the one upon being shown.
	page.Do(chromedp.Evaluate[chromedp.Void](`for (let i = setInterval(() => {}, 1e9); i > 0; i--) clearInterval(i);
		Object.defineProperty(document, "hidden", {value: false});
		document.dispatchEvent(new Event("visibilitychange"))`))
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Error("the tab asked nothing when it was shown again")
	}
}

func TestInABrowserTheNoticeComesAndGoes(t *testing.T) {
	s := newStage(t)
	task := s.create("shop", shopSpec)
	s.claim(task.ID)
	instance := s.write(task.ID)
	page := s.open(server.RoleViewer)
	page.visit("/deployments/" + task.DeploymentID)
	page.shows("Create network policies and secrets")
	s.clock.Advance(61 * time.Second)
	page.shows("No report from the agent since 2026-11-29T12:00:00Z")
	s.reports(seen{objects: []server.DeploymentStatus{s.written(task.DeploymentID, "shop", instance, "CreatingHelmRelease", "Deploying")}})
	page.WaitFor("!document.body.innerText.includes('No report from the agent')")
}

func TestInABrowserAnUnreachableServerIsSaid(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	page := s.open(server.RoleViewer)
	page.visit("/deployments/" + id)
	page.shows("RUNNING")
	working := s.handler
	gone := make(chan bool, 1)
	page.intercept(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
			gone <- true
			// The connection breaks, as when no server is there.
			panic(http.ErrAbortHandler)
		default:
			working.ServeHTTP(w, r)
		}
	})
	gone <- true
	page.shows("Server unreachable")
	s.want("since when the data is", "true", page.Value("/What you see is from \\d\\d:\\d\\d:\\d\\d UTC, \\d+ s ago/.test(document.body.innerText)"))
	s.want("whether the data stays", "true", page.Value("document.body.innerText.includes('RUNNING')"))
	<-gone
	page.WaitFor("document.getElementById('offline').hidden")
}

func TestInABrowserTheKeyboardIsEnough(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	page := s.open(server.RoleAdmin)
	page.visit("/deployments/" + id)
	page.shows("Upgrade")
	page.press("\t")
	s.want("the first stop", "Skip to the content", page.Value("document.activeElement.textContent"))
	page.press("\r")
	s.want("where it leads", "#main", page.Value("location.hash"))
	page.focus("Upgrade…")
	page.press("\r")
	page.WaitFor("document.activeElement.name === 'version'")
	page.press("\x1b")
	page.WaitFor("!document.querySelector('#do-upgrade').matches(':popover-open')")
	s.want("where the focus returns to", "Upgrade…", page.Value("document.activeElement.textContent"))
	page.press("\r")
	page.WaitFor("document.activeElement.name === 'version'")
	page.Do(chromedp.Evaluate[chromedp.Void]("document.activeElement.select()"), chromedp.KeyEvent("2.5.0\r"))
	page.WaitFor("location.pathname.startsWith('/tasks/')")
	page.shows("Upgrade to 2.5.0")
}

// focus moves by the tabulator until the element with the text has the focus.
func (t *tab) focus(text string) {
	t.Helper()
	for range 40 {
		t.press("\t")
		if t.Value("document.activeElement.textContent.trim()") == text {
			return
		}
	}
	t.Fatalf("the tabulator does not come to %s", text)
}

func TestInABrowserTheFilterFollowsTheWords(t *testing.T) {
	s, _, _ := everyday(t)
	page := s.open(server.RoleViewer)
	page.shows("12 of 12 shown")
	page.Do(chromedp.SendKeys(chromedp.CSS("#q"), "south"))
	page.shows("2 of 12 shown")
	page.WaitFor("location.search.includes('q=south')")
	s.want("what has the focus", "q", page.Value("document.activeElement.name"))
}

func TestInABrowserWhatIsUnfoldedStaysSo(t *testing.T) {
	s := newStage(t)
	scene := newScene(s)
	id := scene.failedUpgrade("checkout")
	page := s.open(server.RoleViewer)
	page.visit("/deployments/" + id)
	page.shows("1 earlier attempt")
	page.Do(chromedp.Click(chromedp.CSS("details[id^=a-] summary")))
	page.WaitFor("document.querySelector('details[id^=a-]').open")
	object := scene.objects["prod-checkout"]
	message := "another failure"
	object.Message = &message
	scene.put(object)
	scene.pass(5 * time.Second)
	page.shows(message)
	page.WaitFor("document.querySelector('details[id^=a-]').open") // It is unfolded again once the new content is in.
}
