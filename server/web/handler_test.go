// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/styrmin/styrmin/server"
)

// addresses are those of all pages, with a task of the shop.
func (s *stage) addresses() []string {
	s.Helper()
	id, _ := s.runShop()
	task := s.request(id, server.Change{Kind: server.TaskDelete})
	return []string{"/", "/?q=shop&status=RUNNING&env=prod", "/clusters", "/deployments/" + id, "/tasks/" + task.ID, "/what", "/sign-in"}
}

// inline is what a strict policy does not let run: scripts, handlers and styles
// that stand in the HTML.
var inline = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:[^>]*)>[^<]|javascript:|hx-on|hx-vals="js|https?://`)

func TestEachPageKeepsToItsOwnFiles(t *testing.T) {
	s := newStage(t)
	for _, address := range s.addresses() {
		got := s.get(server.RoleAdmin, address)
		policy := got.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("the policy of %s lacks %s: %s", address, part, policy)
			}
		}
		s.want("the policy's exceptions", false, strings.Contains(policy, "unsafe"))
		s.want("nosniff", "nosniff", got.Header().Get("X-Content-Type-Options"))
		s.want("what caches keep of "+address, "no-store", got.Header().Get("Cache-Control"))
		html := strings.ReplaceAll(got.body, "https://shop.example.com", "")
		if found := inline.FindString(html); found != "" {
			t.Errorf("%s holds %q", address, found)
		}
		for _, match := range regexp.MustCompile(`(?:src|href)="(/static/[^"]*)"`).FindAllStringSubmatch(got.body, -1) {
			file := s.get("", match[1])
			s.want(match[1], http.StatusOK, file.Code)
			s.want("how long it is kept", "public, max-age=31536000, immutable", file.Header().Get("Cache-Control"))
		}
	}
	s.want("a file of another version", http.StatusNotFound, s.get("", "/static/000000000000/app.css").Code)
}

func TestRequestsFromOtherSitesAreRefused(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	for name, headers := range map[string][]string{
		"a form of another site":         {"Sec-Fetch-Site", "cross-site"},
		"a form of a neighbour":          {"Sec-Fetch-Site", "same-site"},
		"an old browser, another origin": {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"a sandboxed frame":              {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, address := range []string{"/deployments/" + id + "/delete", "/sign-in", "/sign-out"} {
				got := s.post(server.RoleAdmin, address, url.Values{"name": {"shop"}, "key": {"k"}}, headers...)
				s.want("the status of "+address, http.StatusForbidden, got.Code)
				s.wantText(got, "another site")
			}
			view, err := s.store.DeploymentView(t.Context(), id, 0, 10)
			s.must(err)
			s.want("the tasks", 1, len(view.Newest))
			s.want("whether the admin is signed in", http.StatusOK, s.get(server.RoleAdmin, "/").Code)
		})
	}
}

func TestAFormThatIsTooLargeIsRefused(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	large := url.Values{"token": {strings.Repeat("a", maxBody)}}
	s.want("signing in", http.StatusRequestEntityTooLarge, s.post("", "/sign-in", large).Code)
	s.want("a change", http.StatusRequestEntityTooLarge, s.post(server.RoleAdmin, "/deployments/"+id+"/scale", large).Code)
}

// brokenStore fails at everything but telling who is signed in.
type brokenStore struct{ Store }

func (brokenStore) Clusters(context.Context) ([]server.Cluster, error) {
	return nil, errors.New("secret detail of the database")
}

func TestAFailureOfTheServerIsLoggedAndNotShown(t *testing.T) {
	s := newStage(t)
	working := s.handler
	broken, err := NewHandler(Options{Store: brokenStore{s.store}, Now: s.clock.Now, Log: s.logger(), ReportTimeout: 1})
	s.must(err)
	s.handler = broken
	got := s.get(server.RoleViewer, "/clusters")
	s.handler = working
	s.want("the status", http.StatusInternalServerError, got.Code)
	s.wantNoText(got, "secret detail")
	if !strings.Contains(s.log.String(), "secret detail") {
		t.Error("the log does not say why")
	}
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	s := newStage(t)
	for _, address := range []string{"/what", "/deployments/none", "/tasks/none", "/deployments/%3Cscript%3E"} {
		got := s.get(server.RoleViewer, address)
		s.want("the status of "+address, http.StatusNotFound, got.Code)
		s.wantText(got, "Not found", `<a href="/">`)
		s.wantNoText(got, "<script>")
	}
	s.want("another method", http.StatusMethodNotAllowed, s.post(server.RoleViewer, "/clusters", nil).Code)
}
