// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"time"

	"github.com/NYTimes/gziphandler"
	"github.com/go-logr/logr"

	"github.com/styrmin/styrmin/server"
)

// Options are what the page needs.
type Options struct {
	Store Store
	// ReportTimeout is the age of the last report from which what it said is
	// shown as the last known state (R12).
	ReportTimeout time.Duration
	// Now is the server's clock.
	Now func() time.Time
	Log logr.Logger
	// Version is the server's own.
	Version string
}

type handler struct {
	Options

	assets *assets
	pages  pages
}

// maxBody bounds what a form sends, in bytes.
const maxBody = 64 << 10

// NewHandler answers everything below /.
func NewHandler(options Options) (http.Handler, error) {
	assets, err := loadAssets()
	if err != nil {
		return nil, err
	}
	pages, err := loadPages(assets)
	if err != nil {
		return nil, err
	}
	h := &handler{Options: options, assets: assets, pages: pages}
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(h.denyOrigin))
	compress, err := gziphandler.NewGzipLevelHandler(gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("preparing compression: %w", err)
	}
	return compress(secured(origin.Handler(h.routes()))), nil
}

func (h *handler) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+assetPrefix, h.assets)
	mux.HandleFunc("GET /sign-in", h.showSignIn)
	mux.HandleFunc("POST /sign-in", h.signIn)
	mux.HandleFunc("POST /sign-out", h.signOut)
	mux.HandleFunc("GET /{$}", h.signedIn(h.overview))
	mux.HandleFunc("GET /clusters", h.signedIn(h.clusters))
	mux.HandleFunc("GET /deployments/{id}", h.signedIn(h.deployment))
	mux.HandleFunc("POST /deployments/{id}/{action}", h.signedIn(h.change))
	mux.HandleFunc("GET /tasks/{id}", h.signedIn(h.task))
	mux.HandleFunc("GET /", h.signedIn(func(*http.Request, server.Token) (*answer, error) {
		return nil, server.Errorf(server.CodeNotFound, "there is no such page")
	}))
	return mux
}

// contentSecurityPolicy lets in what the server itself serves, and nothing that
// stands in the HTML.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secured sets the headers that keep a page from others, and bounds the body.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentSecurityPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// denyOrigin refuses a change that another site asks a signed-in browser for.
func (h *handler) denyOrigin(w http.ResponseWriter, r *http.Request) {
	h.fail(w, r, server.Token{}, server.Errorf(server.CodeForbidden, "the request came from another site"))
}

// answer is what a page shows.
type answer struct {
	page  string
	title string
	// content is what the page is about; its digest tells whether it has changed.
	content any
	// live is what changes with every report, and is sent with every reload.
	live any
	// aside is what is sent with the whole page alone, and stays when the content
	// is reloaded: forms that someone may be filling in.
	aside any
	// status is the HTTP status; zero: 200.
	status int
	// location answers a redirect instead.
	location string
}

// signedIn answers those who are signed in, and leads others to sign in.
func (h *handler) signedIn(next func(*http.Request, server.Token) (*answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, err := h.Store.SignedIn(r.Context(), sessionOf(r))
		if server.CodeOf(err) == server.CodeUnauthenticated {
			h.leadToSignIn(w, r)
			return
		}
		var shown *answer
		if err == nil {
			shown, err = next(r, token)
		}
		switch {
		case err != nil:
			h.fail(w, r, token, err)
		case shown.location != "":
			http.Redirect(w, r, shown.location, http.StatusSeeOther)
		default:
			h.show(w, r, token, shown)
		}
	}
}

// fail answers an error: a refusal with what it says, anything else without.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, token server.Token, err error) {
	shown := &answer{page: "error", title: "Not possible", content: errorView{Message: err.Error()}}
	switch server.CodeOf(err) {
	case server.CodeNotFound:
		shown.status, shown.title = http.StatusNotFound, "Not found"
	case server.CodeForbidden:
		shown.status, shown.title = http.StatusForbidden, "Not allowed"
	case server.CodeConflict:
		shown.status = http.StatusConflict
	case server.CodeInvalidInput:
		shown.status = http.StatusUnprocessableEntity
	case server.CodeTooLarge:
		shown.status = http.StatusRequestEntityTooLarge
	default:
		shown.status, shown.title = http.StatusInternalServerError, "The server failed"
		shown.content = errorView{Message: "The server could not answer. Its log says why; trying again may help."}
		if r.Context().Err() == nil {
			h.Log.Error(err, "Failed to answer a page", "path", fmt.Sprintf("%.200q", r.URL.Path))
		}
	}
	h.show(w, r, token, shown)
}

type errorView struct{ Message string }
