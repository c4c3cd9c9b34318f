// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"flag"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/styrmin/styrmin/server"
)

var looks = flag.String("looks", "", "folder to write pictures of every state of the page to; empty: none are taken")

// picture shows the address in a window of the width and writes what it shows.
func (t *tab) picture(name, address string, width int64, scheme string) {
	t.Helper()
	t.Size(width, 760)
	t.Scheme(scheme)
	t.visit(address)
	t.WaitFor("document.readyState === 'complete'")
	t.write(name)
}

// write writes what the browser shows.
func (t *tab) write(name string) {
	t.Helper()
	t.Picture(filepath.Join(*looks, name+".png"))
}

// TestLooks writes a picture of each state, to be looked at.
func TestLooks(t *testing.T) {
	if *looks == "" {
		t.Skip("no -looks folder was given")
	}
	s, failed, rolling := everyday(t)
	view, err := s.store.DeploymentView(t.Context(), failed, 0, 2)
	s.must(err)
	scene := newScene(s.at(s.newSite("crowded")))
	crowd := scene.crowd("fleet", 500)
	name := strings.Repeat("very-long-name-", 16)
	long := scene.object(name)
	message := hostile + strings.Repeat(" a long message without an end", 30) + strings.Repeat("x", 400)
	long.Message, long.DisplayState = &message, "Error"
	long.Conditions = scene.conditions("True", "False", "Unknown", "False")
	long.Conditions[1].Message = &message
	scene.put(long, scene.crashing(strings.Repeat("pod-", 60), message))
	scene.pass(0)
	scene.pass(time.Second)
	page := s.open(server.RoleAdmin)
	for name, address := range map[string]string{
		"silent": "/deployments/uid-kiosk", "crowd": "/deployments/" + crowd, "long": "/deployments/uid-" + name,
		"overview": "/", "clusters": "/clusters", "failed": "/deployments/" + failed, "rolling": "/deployments/" + rolling,
		"task": "/tasks/" + view.Newest[1], "empty": "/?q=nothing", "gone": "/what", "internal": "/deployments/uid-ingress",
	} {
		page.picture(name, address, 1280, "light")
		page.picture(name+"-narrow-dark", address, 390, "dark")
	}
	page.picture("sign-in", "/sign-in", 1280, "light")
	page.visit("/deployments/" + failed)
	page.Do(chromedp.Click(chromedp.CSS("[popovertarget=do-scale]")))
	page.write("form")
	page.visit("/deployments/" + failed)
	page.intercept(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	page.shows("Server unreachable")
	page.write("unreachable")
}
