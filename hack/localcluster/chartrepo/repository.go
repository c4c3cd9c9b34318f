// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chartrepo serves charts as a Helm chart repository.
package chartrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/provenance"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	"sigs.k8s.io/yaml"
)

// Handler packages each chart of the file system, one folder a chart, under each of its versions and serves the archives
// with their index.
func Handler(charts fs.FS, versions map[string][]string) (http.Handler, error) {
	index := repo.NewIndexFile()
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		for _, version := range versions[name] {
			archived, err := packageChart(charts, name, version)
			if err != nil {
				return nil, fmt.Errorf("package chart %s %s: %w", name, version, err)
			}
			files[archived.filename] = archived.content
			// The URL is relative to the index, so that it holds at any address.
			if err := index.MustAdd(archived.metadata, archived.filename, "", archived.digest); err != nil {
				return nil, fmt.Errorf("index chart %s %s: %w", name, version, err)
			}
		}
	}
	index.SortEntries()
	content, err := yaml.Marshal(index)
	if err != nil {
		return nil, fmt.Errorf("write the index: %w", err)
	}
	files["index.yaml"] = content
	return serve(files), nil
}

type archivedChart struct {
	filename string
	content  []byte
	digest   string
	metadata *chart.Metadata
}

func packageChart(charts fs.FS, name, version string) (_ archivedChart, err error) {
	loaded, err := load(charts, name)
	if err != nil {
		return archivedChart{}, err
	}
	loaded.Metadata.Version, loaded.Metadata.AppVersion = version, version
	dir, err := os.MkdirTemp("", "chart-")
	if err != nil {
		return archivedChart{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file, err := util.Save(loaded, dir)
	if err != nil {
		return archivedChart{}, err
	}
	content, err := os.ReadFile(file) // #nosec G304 -- written just now.
	if err != nil {
		return archivedChart{}, err
	}
	digest, err := provenance.Digest(bytes.NewReader(content))
	if err != nil {
		return archivedChart{}, err
	}
	return archivedChart{filename: path.Base(file), content: content, digest: digest, metadata: loaded.Metadata}, nil
}

func load(charts fs.FS, name string) (*chart.Chart, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(charts, name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(charts, file)
		if err != nil {
			return err
		}
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(file, name+"/"), Data: content})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}

func serve(files map[string][]byte) http.Handler {
	started := time.Now()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		content, found := files[name]
		if !found {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, name, started, bytes.NewReader(content))
	})
}
