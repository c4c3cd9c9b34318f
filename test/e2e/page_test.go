// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/styrmin/styrmin/test/browser"
)

// page is the page of a deployment, which someone watches while things happen.
type page struct {
	t   *testing.T
	tab *browser.Tab // nil where no browser is installed
}

// watchPage opens the page of a deployment in a browser. It is never reloaded by
// hand after that: what it shows is what it finds out itself.
func watchPage(t *testing.T, deploymentID string) *page {
	t.Helper()
	if !browser.Installed() {
		t.Log("no Chromium is installed: nobody watches the page")
		return &page{t: t}
	}
	tab := signIn(t)
	tab.Visit(sys.ServerURL + "/deployments/" + deploymentID)
	return &page{t: t, tab: tab}
}

// signIn opens the page for the admin.
func signIn(t *testing.T) *browser.Tab {
	t.Helper()
	token, err := os.ReadFile(sys.AdminTokenFile)
	if err != nil {
		t.Fatal(err)
	}
	tab := browser.Open(t)
	tab.Visit(sys.ServerURL)
	tab.SignIn(strings.TrimSpace(string(token)))
	return tab
}

// shows waits until the page says all these.
func (p *page) shows(texts ...string) {
	p.t.Helper()
	if p.tab == nil {
		return
	}
	for _, text := range texts {
		p.tab.WaitFor(fmt.Sprintf("document.body.innerText.includes(%q)", text))
	}
}

// showsNot waits until the page does not say this.
func (p *page) showsNot(text string) {
	p.t.Helper()
	if p.tab != nil {
		p.tab.WaitFor(fmt.Sprintf("!document.body.innerText.includes(%q)", text))
	}
}

// hasStatus waits until the page gives the deployment this status.
func (p *page) hasStatus(status string) {
	p.t.Helper()
	if p.tab != nil {
		p.tab.WaitFor(fmt.Sprintf("document.querySelector('.state .st').innerText === %q", status))
	}
}

// record notes from now on each pair of the deployment's status and the state of
// the task at work that the page shows.
func (p *page) record() {
	p.t.Helper()
	if p.tab == nil {
		return
	}
	p.tab.Value(`(() => {
		window.pairs = [];
		const note = () => {
			const text = query => document.querySelector(query)?.innerText ?? "none";
			const pair = "deployment " + text(".state .st") + ", task " + text("[aria-labelledby=h-task] header .st");
			if (pairs.at(-1) !== pair) pairs.push(pair);
		};
		note();
		new MutationObserver(note).observe(document.body, {subtree: true, childList: true, characterData: true});
	})()`)
}

// neverRanEarly checks that the page, since record, has shown a rollout, and the
// deployment RUNNING after its begin only when the task was no more.
func (p *page) neverRanEarly() {
	p.t.Helper()
	if p.tab == nil {
		return
	}
	pairs := strings.Split(p.tab.Value(`pairs.join("\n")`), "\n")
	began := slices.IndexFunc(pairs, func(pair string) bool { return strings.HasPrefix(pair, "deployment DEPLOYING") })
	if began < 0 || slices.Contains(pairs[began:], "deployment RUNNING, task RUNNING") {
		p.t.Errorf("the page has shown:\n%s", strings.Join(pairs, "\n"))
	}
}
