// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser shows pages to tests in a real Chromium.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	// patience bounds how long a test waits for what a page must come to.
	patience = time.Minute
	// lifetime bounds a tab's.
	lifetime = 30 * time.Minute
)

// chromium is the browser that all tests share; each has a profile of its own.
var chromium = sync.OnceValues(start)

// stop ends the browser; it is set when that is started.
var stop = func() {}

// Stop ends the browser, if one was started: for TestMain.
func Stop() { stop() }

func start() (context.Context, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		// Tests may run as root in a container, where the sandbox cannot.
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("hide-scrollbars", true))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	browser, stopBrowser := chromedp.NewContext(allocator)
	stop = func() {
		stopBrowser()
		stopAllocator()
	}
	return browser, chromedp.Do(browser)
}

// Installed tells whether there is a browser.
func Installed() bool {
	_, err := find()
	return err == nil
}

// find returns the program of an installed Chromium.
func find() (string, error) {
	var err error
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		var path string
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// Tab shows a page to someone with a profile of their own.
type Tab struct {
	t testing.TB
	//nolint:containedctx // To chromedp this context is the tab itself.
	ctx context.Context
}

// Open opens a tab of the size of a small desktop, which closes with the test.
// Where no Chromium is installed the test is skipped.
func Open(t testing.TB) *Tab {
	t.Helper()
	if !Installed() {
		t.Skip("no Chromium is installed (Debian's package is chromium): the page is not tried in a browser")
	}
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancelTime := context.WithTimeout(ctx, lifetime)
	t.Cleanup(cancelTime)
	tab := &Tab{t: t, ctx: ctx}
	tab.Size(1280, 800)
	return tab
}

func (b *Tab) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// Do does what a person would with mouse and keys.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, actions...))
}

// Size makes the window this large, in pixels.
func (b *Tab) Size(width, height int64) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, height))
}

// Scheme makes the browser prefer light or dark.
func (b *Tab) Scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	b.must(err)
}

// Visit goes to an address.
func (b *Tab) Visit(address string) {
	b.t.Helper()
	b.Do(chromedp.Navigate(address))
}

// SignIn signs in with a token on the page that is shown.
func (b *Tab) SignIn(token string) {
	b.t.Helper()
	b.Do(chromedp.SendKeys(chromedp.CSS("#token"), token+"\r"))
	b.WaitFor("document.querySelector('nav')")
}

// WaitFor waits until the script's value is true, also while the browser goes
// from page to page.
func (b *Tab) WaitFor(script string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		holds, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+script+")"))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("waiting for %s: %v\n%.3000s", script, err, b.Value("document.body.innerText"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Value is that of a script, or of the promise that it is, as a text.
func (b *Tab) Value(script string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](
		"(async () => String(await ("+script+")))()", chromedp.EvalAwaitPromise))
	b.must(err)
	return text
}

// Picture writes what the tab shows, the whole page, as a PNG.
func (b *Tab) Picture(file string) {
	b.t.Helper()
	image, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.must(err)
	b.must(os.MkdirAll(filepath.Dir(file), 0o750))
	b.must(os.WriteFile(file, image, 0o600))
}
