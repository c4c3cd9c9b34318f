// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sourcecontroller

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/registry"
	repo "helm.sh/helm/v4/pkg/repo/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/styrmin/styrmin/hack/localcluster/chartrepo"
	"github.com/styrmin/styrmin/hack/localcluster/charts"
)

func TestFetchChartTakesTheNewestVersionThatMatches(t *testing.T) {
	web := chartServer(t)
	httpRepository := &sourcev1.HelmRepository{Spec: sourcev1.HelmRepositorySpec{URL: web.URL}}
	index := indexOf(t, httpRepository)
	ociRepository := &sourcev1.HelmRepository{Spec: sourcev1.HelmRepositorySpec{
		Type: sourcev1.HelmRepositoryTypeOCI, Insecure: true, URL: "oci://" + pushCharts(t, httpRepository, index) + "/charts",
	}}
	tests := map[string]struct {
		chart, version string
		want           string
		wantErr        error
	}{
		"an exact version":              {chart: "shop", version: "2.4.1", want: "2.4.1"},
		"a range":                       {chart: "shop", version: "2.4.x", want: "2.4.1"},
		"no version is the newest":      {chart: "shop", want: "2.5.0"},
		"a version that does not exist": {chart: "shop", version: "9.9.x", wantErr: errNoSuchVersion},
	}
	for name, test := range tests {
		for kind, repository := range map[string]*sourcev1.HelmRepository{"http": httpRepository, "oci": ociRepository} {
			t.Run(name+" from "+kind, func(t *testing.T) {
				content, version, err := fetchChart(repository, index, test.chart, test.version)
				if !errors.Is(err, test.wantErr) || version != test.want {
					t.Fatalf("version = %q, %v, want %q, %v", version, err, test.want, test.wantErr)
				}
				if test.wantErr != nil {
					return
				}
				loaded, err := loader.LoadArchive(bytes.NewReader(content))
				if err != nil || loaded.Metadata.Version != test.want {
					t.Errorf("archive: %v, want one of version %s", err, test.want)
				}
			})
		}
	}
}

func TestARepositoryThatIsAwayIsNotOneWithoutTheChart(t *testing.T) {
	web := chartServer(t)
	repository := &sourcev1.HelmRepository{Spec: sourcev1.HelmRepositorySpec{URL: web.URL}}
	index := indexOf(t, repository)
	web.Close()
	if _, err := fetchIndex(repository); err == nil || !strings.Contains(err.Error(), "failed to fetch Helm repository index") {
		t.Errorf("index of a repository that is away: %v", err)
	}
	if _, _, err := fetchChart(repository, index, "shop", "2.4.1"); err == nil || errors.Is(err, errNoSuchVersion) {
		t.Errorf("chart of a repository that is away: %v, want an error that is tried again", err)
	}
	oci := &sourcev1.HelmRepository{Spec: sourcev1.HelmRepositorySpec{
		Type: sourcev1.HelmRepositoryTypeOCI, Insecure: true, URL: "oci://" + strings.TrimPrefix(web.URL, "http://"),
	}}
	if _, _, err := fetchChart(oci, nil, "shop", "2.4.1"); err == nil || errors.Is(err, errNoSuchVersion) {
		t.Errorf("chart of a registry that is away: %v, want an error that is tried again", err)
	}
}

func TestOnlyWebAddressesAreDownloadedFrom(t *testing.T) {
	repository := &sourcev1.HelmRepository{Spec: sourcev1.HelmRepositorySpec{URL: "file:///etc"}}
	if _, err := fetchIndex(repository); err == nil || !strings.Contains(err.Error(), `scheme "file" is not supported`) {
		t.Errorf("index of a file: %v", err)
	}
}

func TestArtifactsAreLoadedOnlyAsTheyWereStored(t *testing.T) {
	store := artifacts{dir: t.TempDir()}
	source := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
	artifact, err := store.store(chartFolder, source, "shop-2.4.1.tgz", "2.4.1", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	if content, err := store.load(artifact); err != nil || string(content) != "content" {
		t.Errorf("loaded %q, %v", content, err)
	}
	changed := artifact.DeepCopy()
	changed.Digest = "sha256:0"
	for name, artifact := range map[string]*fluxmeta.Artifact{"none": nil, "with another digest": changed} {
		if content, err := store.load(artifact); err != nil || content != nil {
			t.Errorf("artifact %s: loaded %q, %v, want nothing", name, content, err)
		}
	}
	if err := store.remove(chartFolder, source); err != nil {
		t.Fatal(err)
	}
	if content, err := store.load(artifact); err != nil || content != nil {
		t.Errorf("removed artifact: loaded %q, %v, want nothing", content, err)
	}
}

func chartServer(t *testing.T) *httptest.Server {
	t.Helper()
	handler, err := chartrepo.Handler(charts.Files, charts.Versions())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func indexOf(t *testing.T, repository *sourcev1.HelmRepository) *repo.IndexFile {
	t.Helper()
	content, err := fetchIndex(repository)
	if err != nil {
		t.Fatal(err)
	}
	index := repo.NewIndexFile()
	if err := yaml.Unmarshal(content, index); err != nil {
		t.Fatal(err)
	}
	index.SortEntries()
	return index
}

// pushCharts fills a registry with the charts of a repository and returns its address.
func pushCharts(t *testing.T, from *sourcev1.HelmRepository, index *repo.IndexFile) string {
	t.Helper()
	server := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	client, err := registry.NewClient(registry.ClientOptPlainHTTP())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range index.Entries["shop"] {
		content, _, err := fetchChart(from, index, "shop", entry.Version)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Push(content, address+"/charts/shop:"+entry.Version); err != nil {
			t.Fatalf("Push shop %s: %v", entry.Version, err)
		}
	}
	return address
}
