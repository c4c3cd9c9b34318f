// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package chartrepo_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	repo "helm.sh/helm/v4/pkg/repo/v1"

	"github.com/styrmin/styrmin/hack/localcluster/chartrepo"
	"github.com/styrmin/styrmin/hack/localcluster/charts"
)

func TestIndexListsEachVersionWithAnArchiveOfThatVersion(t *testing.T) {
	handler, err := chartrepo.Handler(charts.Files, charts.Versions())
	if err != nil {
		t.Fatalf("Handler: %v", err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)

	file := filepath.Join(t.TempDir(), "index.yaml")
	if err := os.WriteFile(file, get(t, server.URL+"/index.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	index, err := repo.LoadIndexFile(file)
	if err != nil {
		t.Fatalf("Load the served index: %v", err)
	}
	versions := make([]string, 0, len(index.Entries["shop"]))
	for _, entry := range index.Entries["shop"] {
		versions = append(versions, entry.Version)
		archived, err := loader.LoadArchive(bytes.NewReader(get(t, server.URL+"/"+entry.URLs[0])))
		if err != nil {
			t.Fatalf("Load the archive of %s: %v", entry.Version, err)
		}
		if archived.Metadata.Version != entry.Version {
			t.Errorf("archive of %s has version %s", entry.Version, archived.Metadata.Version)
		}
		if !slices.ContainsFunc(archived.Templates, func(f *common.File) bool { return f.Name == "templates/_helpers.tpl" }) {
			t.Errorf("archive of %s lacks its helper templates", entry.Version)
		}
	}
	if diff := cmp.Diff([]string{"2.5.0", "2.4.1"}, versions); diff != "" {
		t.Errorf("versions, newest first (-want +got):\n%s", diff)
	}
}

func TestUnknownFileIsNotFound(t *testing.T) {
	handler, err := chartrepo.Handler(charts.Files, charts.Versions())
	if err != nil {
		t.Fatalf("Handler: %v", err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/shop-9.9.9.tgz", nil))
	if recorder.Code != http.StatusNotFound {
		t.Errorf("status = %d, want %d", recorder.Code, http.StatusNotFound)
	}
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", url, response.Status)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
