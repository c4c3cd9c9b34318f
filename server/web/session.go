// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/styrmin/styrmin/server"
)

const (
	sessionCookie = "styrmin_session"
	// sessionLifetime is how long a browser stays signed in.
	sessionLifetime = 30 * 24 * time.Hour
)

// sessionOf is the secret of the browser's session, or empty.
func sessionOf(r *http.Request) string {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func setSession(w http.ResponseWriter, r *http.Request, secret string, lifetime time.Duration) {
	//nolint:gosec // Secure follows the connection: over plain HTTP such a cookie would never come back.
	cookie := &http.Cookie{
		Name: sessionCookie, Value: secret, Path: "/", MaxAge: int(lifetime.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Behind a proxy that speaks TLS the connection itself does not tell.
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
	if secret == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// signInView is the page that asks for a token.
type signInView struct {
	// Next is where the visitor wanted to go.
	Next    string
	Refusal string
}

// leadToSignIn answers who is not signed in. A browser that followed a link from
// another site has kept its cookie back: it comes again from here.
func (h *handler) leadToSignIn(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		w.Header().Set("Refresh", "0")
		h.show(w, r, server.Token{}, &answer{page: "error", title: "One moment", content: errorView{Message: "Opening the page…"}})
		return
	}
	address := "/sign-in"
	if next := here(r.URL, ""); next != "/" && r.Method == http.MethodGet {
		address += "?" + url.Values{"next": {next}}.Encode()
	}
	if r.Header.Get("Hx-Request") == "true" {
		w.Header().Set("HX-Redirect", address)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

func (h *handler) showSignIn(w http.ResponseWriter, r *http.Request) {
	h.show(w, r, server.Token{}, signInAnswer(r.URL.Query().Get("next"), "", http.StatusOK))
}

func signInAnswer(next, refusal string, status int) *answer {
	return &answer{
		page: "signin", title: "Sign in", status: status,
		content: signInView{Next: localPath(next), Refusal: refusal},
	}
}

// signIn opens a session and leads on to where the visitor wanted to go.
func (h *handler) signIn(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		h.fail(w, r, server.Token{}, formError(err))
		return
	}
	next := localPath(r.PostForm.Get("next"))
	secret, err := h.Store.SignIn(r.Context(), strings.TrimSpace(r.PostForm.Get("token")), sessionLifetime)
	switch code := server.CodeOf(err); {
	case err == nil:
		setSession(w, r, secret, sessionLifetime)
		//nolint:gosec // localPath keeps to this site.
		http.Redirect(w, r, next, http.StatusSeeOther)
	case code == server.CodeUnauthenticated:
		h.show(w, r, server.Token{}, signInAnswer(next, "This token is not known. It may have been revoked.", http.StatusUnauthorized))
	case code == server.CodeForbidden:
		h.show(w, r, server.Token{}, signInAnswer(next, err.Error(), http.StatusForbidden))
	default:
		h.fail(w, r, server.Token{}, err)
	}
}

// signOut ends the session, also when it is over already.
func (h *handler) signOut(w http.ResponseWriter, r *http.Request) {
	if session := sessionOf(r); session != "" {
		if err := h.Store.SignOut(r.Context(), session); err != nil {
			h.fail(w, r, server.Token{}, err)
			return
		}
	}
	setSession(w, r, "", 0)
	http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
}

// localPath keeps a form from leading to other sites.
func localPath(next string) string {
	address, err := url.Parse(next)
	if err != nil || address.IsAbs() || address.Host != "" || !strings.HasPrefix(address.Path, "/") ||
		strings.HasPrefix(next, "//") || strings.Contains(next, "\\") {
		return "/"
	}
	return next
}
