// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/styrmin/styrmin/server"
)

//go:embed testdata/axe.min.js
var axe string

// violation is what axe-core finds wrong with a page.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// minRules is how many rules axe-core finds kept on the smallest page: fewer say
// that it looked at nothing.
const minRules = 10

// violations runs axe-core on what the page shows, by WCAG 2.2 AA and its best
// practices.
func (t *tab) violations() []violation {
	t.Helper()
	t.Do(chromedp.Evaluate[chromedp.Void](axe))
	text := t.Value("axe.run().then(({violations, passes}) => JSON.stringify({violations, passes: passes.length}))")
	var found struct {
		Violations []violation
		Passes     int
	}
	t.must(json.Unmarshal([]byte(text), &found))
	if found.Passes < minRules {
		t.Errorf("axe-core found %d rules kept only", found.Passes)
	}
	return found.Violations
}

func (t *tab) wantAccessible(what string) {
	t.Helper()
	for _, found := range t.violations() {
		for _, node := range found.Nodes {
			t.Errorf("%s: %s (%s)\n%.400s\n%s", what, found.Help, found.ID, node.HTML, node.Summary)
		}
	}
}

func TestInABrowserEachPageIsAccessible(t *testing.T) {
	s, failed, rolling := everyday(t)
	scene := newScene(s.at(s.newSite("crowded")))
	crowd := scene.crowd("fleet", 60)
	name := strings.Repeat("very-long-name-", 16)
	long := scene.object(name)
	message := strings.Repeat("a long message without an end ", 30) + strings.Repeat("x", 400)
	long.Message, long.DisplayState = &message, "Error"
	scene.put(long, scene.crashing(strings.Repeat("pod-", 60), message))
	scene.pass(0)
	scene.pass(time.Second)
	view, err := s.store.DeploymentView(t.Context(), failed, 0, 1)
	s.must(err)
	addresses := map[string]string{
		"overview": "/", "an empty list": "/?q=nothing", "clusters": "/clusters", "a failed deployment": "/deployments/" + failed,
		"one that rolls out": "/deployments/" + rolling, "many pods": "/deployments/" + crowd, "a silent agent": "/deployments/uid-kiosk",
		"long names": "/deployments/uid-" + name, "a task": "/tasks/" + view.Newest[0], "what does not exist": "/what", "signing in": "/sign-in",
	}
	page := s.open(server.RoleAdmin)
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"light", "light", 1280}, {"dark", "dark", 1280}, {"narrow", "light", 360}} {
		t.Run(look.name, func(t *testing.T) {
			page.Scheme(look.scheme)
			page.Size(look.width, 800)
			for what, address := range addresses {
				page.visit(address)
				page.WaitFor("document.readyState === 'complete'")
				page.wantAccessible(look.name + ", " + what)
				s.want(look.name+", "+what+": whether it fits into the window", "true",
					page.Value("document.documentElement.scrollWidth <= innerWidth"))
			}
		})
	}
	page.visit("/deployments/" + failed)
	page.Do(chromedp.Click(chromedp.CSS("[popovertarget=do-delete]")))
	page.WaitFor("document.querySelector('#do-delete').matches(':popover-open')")
	page.wantAccessible("an open form")
}
