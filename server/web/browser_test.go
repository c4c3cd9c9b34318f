// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/test/browser"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browser.Stop()
	os.Exit(code)
}

// tab is a browser that shows the page.
type tab struct {
	*stage
	*browser.Tab
	server *httptest.Server
	// serving is what answers the browser.
	serving atomic.Pointer[http.Handler]
}

// intercept lets something else answer from now on.
func (t *tab) intercept(answer http.HandlerFunc) {
	handler := http.Handler(answer)
	t.serving.Store(&handler)
}

// open shows the page to someone who has signed in with a token of the role.
func (s *stage) open(role server.Role) *tab {
	s.Helper()
	t := &tab{stage: s, Tab: browser.Open(s)}
	t.serving.Store(&s.handler)
	t.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*t.serving.Load()).ServeHTTP(w, r)
	}))
	s.Cleanup(t.server.Close)
	t.visit("/")
	t.SignIn(s.tokens[role])
	return t
}

func (t *tab) visit(address string) {
	t.Helper()
	t.Visit(t.server.URL + address)
}
