// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
)

func TestCacheKeyChangesWithAllThatDecidesABuild(t *testing.T) {
	key := func(change func(dir string), goVersion string) string {
		t.Helper()
		dir := writeRecipes(t)
		if change != nil {
			change(dir)
		}
		key, err := cacheKey(dir, goVersion)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	same := key(nil, "go1.26.8")
	if again := key(nil, "go1.26.8"); again != same {
		t.Errorf("equal recipes in different folders have the keys %s and %s", same, again)
	}
	if other := key(nil, "go1.26.9"); other == same {
		t.Error("another Go version has the same key")
	}
	for _, module := range modules() {
		for _, name := range []string{"go.mod", "go.sum"} {
			other := key(func(dir string) { write(t, filepath.Join(dir, module, name), "changed", 0o600) }, "go1.26.8")
			if other == same {
				t.Errorf("another %s/%s has the same key", module, name)
			}
		}
	}
}

func TestEnsure(t *testing.T) {
	tests := map[string]struct {
		built, provided []string
		wantPath        string // relative to the cache (c/) or the provided folder (p/)
		wantErr         string
	}{
		"a binary in KUBEBUILDER_ASSETS is used":                    {provided: []string{"etcd"}, wantPath: "p/etcd"},
		"a binary that is built is used":                            {built: []string{"etcd"}, wantPath: "c/etcd"},
		"KUBEBUILDER_ASSETS comes before the cache":                 {built: []string{"etcd"}, provided: []string{"etcd"}, wantPath: "p/etcd"},
		"a missing binary is built, and a failure names the binary": {wantErr: "build etcd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			store := &Store{Dir: filepath.Join(root, "c"), provided: filepath.Join(root, "p"), recipesDir: writeRecipes(t), progress: &bytes.Buffer{}}
			for _, binary := range test.built {
				write(t, filepath.Join(store.Dir, binary), "", 0o700)
			}
			for _, binary := range test.provided {
				write(t, filepath.Join(store.provided, binary), "", 0o700)
			}
			paths, err := store.Ensure(t.Context(), Etcd)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error = %v, want one with %q", err, test.wantErr)
				}
				checkFiles(t, store.Dir, ".lock")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := filepath.Join(root, filepath.FromSlash(test.wantPath)); paths[Etcd] != want {
				t.Errorf("path = %s, want %s", paths[Etcd], want)
			}
		})
	}
}

func TestABuildLeavesTheBinaryAndTellsHowLongItTook(t *testing.T) {
	var progress bytes.Buffer
	store := &Store{Dir: t.TempDir(), recipesDir: writeRecipes(t), progress: &progress}
	module := filepath.Join(store.recipesDir, "etcd")
	write(t, filepath.Join(module, "go.mod"), "module example.com/etcd\n\ngo 1.26.0\n\n"+
		"require go.etcd.io/etcd/server/v3 v3.0.0\n\nreplace go.etcd.io/etcd/server/v3 => ./server\n", 0o600)
	write(t, filepath.Join(module, "server", "go.mod"), "module go.etcd.io/etcd/server/v3\n\ngo 1.26.0\n", 0o600)
	write(t, filepath.Join(module, "server", "main.go"), "package main\n\nfunc main() {}\n", 0o600)
	for range 2 { // The second time there is nothing to do.
		paths, err := store.Ensure(t.Context(), Etcd)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(store.Dir, "etcd"); paths[Etcd] != want || !isExecutable(want) {
			t.Fatalf("path = %s, want an executable %s", paths[Etcd], want)
		}
	}
	checkFiles(t, store.Dir, ".lock", "etcd")
	const title = "Building etcd (about 1 minute the first time)…"
	busy := strings.Count(progress.String(), title+" still busy after")
	if got := progress.String(); strings.Count(got, title) != busy+2 || !strings.Contains(got, title+" done in ") {
		t.Errorf("progress = %q, want one beginning and one end of %q", got, title)
	}
}

// checkFiles expects exactly these names in the folder.
func checkFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(entries))
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in the cache (-want +got):\n%s", diff)
	}
}

func TestAssetsNeedOneFolderWithAllOfThem(t *testing.T) {
	root := t.TempDir()
	store := &Store{Dir: filepath.Join(root, "c"), provided: filepath.Join(root, "p"), progress: &bytes.Buffer{}}
	write(t, filepath.Join(store.provided, string(Etcd)), "", 0o700)
	for _, binary := range Assets() {
		write(t, filepath.Join(store.Dir, string(binary)), "", 0o700)
	}
	if dir, err := store.EnsureAssets(t.Context()); err != nil || dir != store.Dir {
		t.Errorf("assets with a part in KUBEBUILDER_ASSETS = %s, %v, want the cache", dir, err)
	}
	for _, binary := range Assets() {
		write(t, filepath.Join(store.provided, string(binary)), "", 0o700)
	}
	if dir, err := store.EnsureAssets(t.Context()); err != nil || dir != store.provided {
		t.Errorf("assets with all in KUBEBUILDER_ASSETS = %s, %v, want that folder", dir, err)
	}
}

func TestABuildWaitsForAnotherOne(t *testing.T) {
	var progress bytes.Buffer
	store := &Store{Dir: t.TempDir(), recipesDir: writeRecipes(t), progress: &progress}
	other := flock.New(filepath.Join(store.Dir, ".lock"))
	if locked, err := other.TryLock(); err != nil || !locked {
		t.Fatalf("lock: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Ensure(ctx, Etcd); !errors.Is(err, context.Canceled) {
		t.Errorf("error of a build that waits and is interrupted = %v, want %v", err, context.Canceled)
	}
	if want := "Waiting for another build"; !strings.Contains(progress.String(), want) {
		t.Errorf("progress = %q, want one with %q", progress.String(), want)
	}
}

func TestRecipesOfThisCheckoutAreFound(t *testing.T) {
	dir, err := recipeFolder()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		content, err := os.ReadFile(filepath.Join(dir, r.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), r.pkg) {
			t.Errorf("%s/go.mod does not name the tool %s", r.module, r.pkg)
		}
	}
}

// writeRecipes writes modules that nothing can be built from.
func writeRecipes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, module := range modules() {
		write(t, filepath.Join(dir, module, "go.mod"), "module example.com/"+module+"\n", 0o600)
		write(t, filepath.Join(dir, module, "go.sum"), "", 0o600)
	}
	return dir
}

func write(t *testing.T, file, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestKubernetesProgramsAreToldTheirVersion(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/controlplane\n\nrequire k8s.io/kubernetes v1.37.2\n", 0o600)
	stamps, err := versionStamps(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		" -X k8s.io/component-base/version.gitVersion=v1.37.2", " -X k8s.io/component-base/version.gitMajor=1",
		" -X k8s.io/component-base/version.gitMinor=37", " -X k8s.io/client-go/pkg/version.gitVersion=v1.37.2",
	} {
		if !strings.Contains(stamps, want) {
			t.Errorf("linker flags %q lack %q", stamps, want)
		}
	}
	write(t, filepath.Join(dir, "go.mod"), "module example.com/other\n", 0o600)
	if stamps, err := versionStamps(dir); err != nil || stamps != "" {
		t.Errorf("linker flags of another program = %q, %v, want none", stamps, err)
	}
}
