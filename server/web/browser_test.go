// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/styrmin/styrmin/server"
)

// chromium is the browser that all tests share; each has a profile of its own.
var chromium = sync.OnceValues(startChromium)

// stopChromium ends the browser; it is set when that is started.
var stopChromium = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopChromium()
	os.Exit(code)
}

func startChromium() (context.Context, error) {
	path, err := findChromium()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		// Tests may run as root in a container, where the sandbox cannot.
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("hide-scrollbars", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stop := chromedp.NewContext(allocator)
	stopChromium = func() {
		stop()
		stopAllocator()
	}
	return browser, chromedp.Do(browser)
}

// findChromium returns the program of an installed Chromium.
func findChromium() (string, error) {
	var err error
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// tab is a browser that shows the page.
type tab struct {
	*stage
	//nolint:containedctx // To chromedp this context is the tab itself.
	ctx    context.Context
	server *httptest.Server
	// serving is what answers the browser.
	serving atomic.Pointer[http.Handler]
}

// intercept lets something else answer from now on.
func (t *tab) intercept(answer http.HandlerFunc) {
	handler := http.Handler(answer)
	t.serving.Store(&handler)
}

// patience bounds how long a test waits for what the page must come to.
const patience = time.Minute

// open shows the page to someone who has signed in with a token of the role.
func (s *stage) open(role server.Role) *tab {
	s.Helper()
	if _, err := findChromium(); err != nil {
		s.Skip("no Chromium is installed (Debian's package is chromium): the page is not tried in a browser")
	}
	browser, err := chromium()
	s.must(err)
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	s.Cleanup(cancel)
	ctx, cancelTime := context.WithTimeout(ctx, 10*patience)
	s.Cleanup(cancelTime)
	t := &tab{stage: s, ctx: ctx}
	t.serving.Store(&s.handler)
	t.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*t.serving.Load()).ServeHTTP(w, r)
	}))
	s.Cleanup(t.server.Close)
	t.size(1280, 800)
	t.visit("/")
	t.run(chromedp.SendKeys(chromedp.CSS("#token"), s.tokens[role]+"\r"))
	t.waitFor("document.querySelector('nav')")
	return t
}

func (t *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	t.must(chromedp.Do(t.ctx, actions...))
}

func (t *tab) size(width, height int64) {
	t.Helper()
	t.run(chromedp.EmulateViewport(width, height))
}

// scheme makes the browser prefer light or dark.
func (t *tab) scheme(name string) {
	t.Helper()
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	t.must(err)
}

func (t *tab) visit(address string) {
	t.Helper()
	t.run(chromedp.Navigate(t.server.URL + address))
}

// waitFor waits until the script's value is true, also while the browser goes
// from page to page.
func (t *tab) waitFor(script string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		holds, err := chromedp.Run(t.ctx, chromedp.Evaluate[bool]("Boolean("+script+")"))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: %v\n%.3000s", script, err, t.value("document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// value is that of a script, as a text.
func (t *tab) value(script string) string {
	t.Helper()
	text, err := chromedp.Run(t.ctx, chromedp.Evaluate[string]("String("+script+")"))
	t.must(err)
	return text
}
