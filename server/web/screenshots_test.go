// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/styrmin/styrmin/server"
)

var screenshots = flag.String("screenshots", "", "folder to write pictures of the page to; empty: none are taken")

// picture shows the address in a window of the width and writes what it shows.
func (t *tab) picture(name, address string, width int64, scheme string) {
	t.Helper()
	t.size(width, 760)
	t.scheme(scheme)
	t.visit(address)
	t.waitFor("document.readyState === 'complete'")
	image, err := chromedp.Run(t.ctx, chromedp.FullScreenshot(100))
	t.must(err)
	t.must(os.MkdirAll(*screenshots, 0o755))
	t.must(os.WriteFile(filepath.Join(*screenshots, name+".png"), image, 0o644))
}

// TestScreenshots writes the pictures of the README: make screenshots.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots folder was given")
	}
	s, failed, rolling := everyday(t)
	page := s.open(server.RoleAdmin)
	page.picture("overview", "/", 1280, "light")
	page.picture("overview-dark", "/", 1280, "dark")
	page.picture("overview-narrow", "/", 390, "light")
	page.picture("deployment-failed", "/deployments/"+failed, 1280, "light")
	page.picture("deployment-rolling-dark", "/deployments/"+rolling, 1280, "dark")
	page.picture("deployment-narrow", "/deployments/"+failed, 390, "light")
	page.picture("clusters", "/clusters", 1280, "light")
}
