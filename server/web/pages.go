// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"

	"github.com/styrmin/styrmin/server"
)

//go:embed templates
var templateFiles embed.FS

// pages are the templates of each page, by its name.
type pages map[string]*template.Template

// pageNames are the files of templates that are pages; the others are shared.
var pageNames = []string{"overview", "clusters", "deployment", "task", "signin", "error"}

func loadPages(assets *assets) (pages, error) {
	functions := template.FuncMap{"asset": assets.address, "short": short}
	shared, err := template.New("").Funcs(functions).ParseFS(templateFiles,
		"templates/layout.html", "templates/parts.html", "templates/timeline.html", "templates/pods.html", "templates/forms.html")
	if err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	loaded := pages{}
	for _, name := range pageNames {
		page, err := shared.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, "templates/"+name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("reading the template of %s: %w", name, err)
		}
		loaded[name] = page
	}
	return loaded, nil
}

// frame is what the templates around a page's content are given.
type frame struct {
	Page    string
	Title   string
	Version string
	// Token is who is signed in; without an id no one is.
	Token server.Token
	// Here is the address of the page itself.
	Here string
	// Reload is where the content is asked for again. Empty: it does not change.
	Reload string
	Now    moment
	// OutOfBand marks what a reload brings beside the content.
	OutOfBand bool

	Content, Live, Aside any
}

// reloads names the pages whose content is reloaded.
var reloads = map[string]bool{"overview": true, "clusters": true, "deployment": true, "task": true}

// seenParameter carries the digest of the content that a browser shows.
const seenParameter = "seen"

// show writes a whole page or, to htmx, what has changed of it.
func (h *handler) show(w http.ResponseWriter, r *http.Request, token server.Token, shown *answer) {
	digest, err := digestOf(shown.content)
	if err != nil {
		h.Log.Error(err, "Failed to answer a page")
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	now := clock{h.Now()}
	view := frame{
		Page: shown.page, Title: shown.title, Version: h.Version, Token: token, Now: now.moment(now.now),
		Content: shown.content, Live: shown.live, Aside: shown.aside, Here: here(r.URL, ""),
	}
	if reloads[shown.page] && r.Method == http.MethodGet {
		view.Reload = here(r.URL, digest)
	}
	name := "layout"
	if r.Header.Get("Hx-Request") == "true" && view.Reload != "" {
		name, view.OutOfBand = "reload", true
		if r.URL.Query().Get(seenParameter) == digest {
			name = "unchanged"
			w.Header().Set("HX-Reswap", "none")
		}
	}
	var page bytes.Buffer
	if err := h.pages[shown.page].ExecuteTemplate(&page, name, view); err != nil {
		h.Log.Error(err, "Failed to write a page", "page", shown.page)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Vary", "HX-Request")
	if shown.status != 0 {
		w.WriteHeader(shown.status)
	}
	_, _ = w.Write(page.Bytes()) // a browser that hung up needs no answer
}

// here is the address of the page, with the digest of what it shows.
func here(address *url.URL, digest string) string {
	query := address.Query()
	query.Del(seenParameter)
	if digest != "" {
		query.Set(seenParameter, digest)
	}
	if len(query) == 0 {
		return address.Path
	}
	return address.Path + "?" + query.Encode()
}

// digestOf names what a content shows. Ages are no part of it: they grow in the
// browser.
func digestOf(content any) (string, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encoding what a page shows: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// short is the part of an id that tells it from its neighbours: of a UUIDv7 the
// random end, of other words all.
func short(id string) string {
	const uuidLength, tail = 36, 8
	if len(id) == uuidLength && id[8] == '-' {
		return "…" + id[uuidLength-tail:]
	}
	return id
}
