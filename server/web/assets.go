// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed static
var staticFiles embed.FS

// assets are the embedded files, each under an address that names its content,
// so that browsers keep it for good and never use an old one.
type assets struct {
	addresses map[string]string
	files     map[string]asset
}

type asset struct {
	kind    string
	content []byte
}

const assetPrefix = "/static/"

func loadAssets() (*assets, error) {
	entries, err := fs.ReadDir(staticFiles, "static")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded files: %w", err)
	}
	loaded := &assets{addresses: map[string]string{}, files: map[string]asset{}}
	for _, entry := range entries {
		content, err := staticFiles.ReadFile("static/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", entry.Name(), err)
		}
		sum := sha256.Sum256(content)
		address := assetPrefix + hex.EncodeToString(sum[:6]) + "/" + entry.Name()
		loaded.addresses[entry.Name()] = address
		loaded.files[address] = asset{kind: mime.TypeByExtension(path.Ext(entry.Name())), content: content}
	}
	return loaded, nil
}

// address is where a file is served.
func (a *assets) address(name string) (string, error) {
	address, known := a.addresses[name]
	if !known {
		return "", fmt.Errorf("there is no embedded file %s", name)
	}
	return address, nil
}

// ServeHTTP answers a file; an address of another content is not found.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, known := a.files[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(file.content) // a browser that hung up needs no answer
}
