// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

func TestSigningInGivesASessionThatIsNotTheToken(t *testing.T) {
	for name, tt := range map[string]struct {
		headers    []string
		tls        bool
		wantSecure bool
	}{
		"plain HTTP":                    {},
		"TLS":                           {tls: true, wantSecure: true},
		"a proxy that speaks TLS":       {headers: []string{"X-Forwarded-Proto", "https"}, wantSecure: true},
		"a proxy that speaks plain too": {headers: []string{"X-Forwarded-Proto", "http"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			request := s.form("/sign-in", url.Values{"token": {" " + s.tokens[server.RoleViewer] + " "}, "next": {"/clusters"}})
			if tt.tls {
				request.TLS = new(tls.ConnectionState)
			}
			got := s.do("", request, tt.headers)
			s.want("the status", http.StatusSeeOther, got.Code)
			s.want("where it leads", "/clusters", got.Header().Get("Location"))
			cookie := s.cookie(got)
			if cookie == nil {
				t.Fatal("no cookie is set")
			}
			secret := cookie.Value
			cookie.Raw, cookie.RawExpires, cookie.Value = "", "", ""
			s.want("the cookie", &http.Cookie{
				Name: "styrmin_session", Path: "/", MaxAge: int((30 * 24 * time.Hour).Seconds()),
				HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: tt.wantSecure,
			}, cookie)
			if strings.Contains(secret, s.tokens[server.RoleViewer]) || len(secret) < 40 {
				t.Errorf("the session is %q", secret)
			}
			s.sessions["new"] = secret
			s.want("the page with it", http.StatusOK, s.get("new", "/clusters").Code)
		})
	}
}

func TestSigningInIsRefusedWithoutATokenOfAPerson(t *testing.T) {
	s := newStage(t)
	_, agent, err := s.store.RotateAgentToken(t.Context(), s.cluster.ID)
	s.must(err)
	for name, tt := range map[string]struct {
		token      string
		wantStatus int
		wantText   string
	}{
		"no token":         {"", http.StatusUnauthorized, "not known"},
		"an unknown token": {"styrmin_<script>", http.StatusUnauthorized, "not known"},
		"an agent's token": {agent, http.StatusForbidden, "an agent&#39;s token does not open the page"},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.post("", "/sign-in", url.Values{"token": {tt.token}})
			s.want("the status", tt.wantStatus, got.Code)
			s.want("the cookie", (*http.Cookie)(nil), s.cookie(got))
			s.wantText(got, tt.wantText)
			s.wantNoText(got, "<script>")
		})
	}
	if strings.Contains(s.log.String(), agent) {
		t.Error("the log holds the token")
	}
}

func TestWhoIsNotSignedInIsLedToSignIn(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	s.sessions["stale"] = "styrmin_over"
	for name, tt := range map[string]struct {
		role       server.Role
		address    string
		headers    []string
		wantStatus int
		wantHeader [2]string
	}{
		"without a cookie": {
			address: "/deployments/" + id + "?sort=age", wantStatus: http.StatusSeeOther,
			wantHeader: [2]string{"Location", "/sign-in?next=%2Fdeployments%2F" + id + "%3Fsort%3Dage"},
		},
		"with a session that is over": {
			role: "stale", address: "/", wantStatus: http.StatusSeeOther, wantHeader: [2]string{"Location", "/sign-in"},
		},
		"at an address that does not exist": {
			address: "/what", wantStatus: http.StatusSeeOther, wantHeader: [2]string{"Location", "/sign-in?next=%2Fwhat"},
		},
		"when the page reloads": {
			address: "/clusters?seen=x", headers: []string{"HX-Request", "true"},
			wantStatus: http.StatusNoContent, wantHeader: [2]string{"HX-Redirect", "/sign-in?next=%2Fclusters"},
		},
		"by a link from another site, which keeps the cookie back": {
			address: "/clusters", headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"},
			wantStatus: http.StatusOK, wantHeader: [2]string{"Refresh", "0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.get(tt.role, tt.address, tt.headers...)
			s.want("the status", tt.wantStatus, got.Code)
			s.want(tt.wantHeader[0], tt.wantHeader[1], got.Header().Get(tt.wantHeader[0]))
			s.wantNoText(got, "shop")
		})
	}
}

func TestSigningOutEndsTheSession(t *testing.T) {
	s := newStage(t)
	got := s.post(server.RoleViewer, "/sign-out", nil)
	s.want("the status", http.StatusSeeOther, got.Code)
	s.want("what the cookie is told", -1, s.cookie(got).MaxAge)
	s.want("the page with the old session", http.StatusSeeOther, s.get(server.RoleViewer, "/").Code)
	s.want("signing out again", http.StatusSeeOther, s.post(server.RoleViewer, "/sign-out", nil).Code)
}

func TestSigningInLeadsNowhereElse(t *testing.T) {
	for _, next := range []string{
		"https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "deployments", "http:evil", ":",
	} {
		if got := localPath(next); got != "/" {
			t.Errorf("%q leads to %q", next, got)
		}
	}
	for _, next := range []string{"/", "/deployments/a?sort=age", "/?q=a+b"} {
		if got := localPath(next); got != next {
			t.Errorf("%q leads to %q", next, got)
		}
	}
}
