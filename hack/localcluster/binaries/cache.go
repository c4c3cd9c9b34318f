// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// CacheDirVariable overrides the per-user cache folder.
const CacheDirVariable = "STYRMIN_CACHE_DIR"

// cacheRoot returns the folder that holds one sub-folder for each set of recipes.
func cacheRoot() (string, error) {
	if dir := os.Getenv(CacheDirVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder (%s overrides it): %w", CacheDirVariable, err)
	}
	return filepath.Join(dir, "styrmin"), nil
}

// cacheKey digests all that decides what a build yields: the recipes' modules, the platform and the Go version.
func cacheKey(recipesDir, goVersion string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, runtime.GOOS, runtime.GOARCH, goVersion, buildFlags, linkFlags, versionVariables)
	for _, module := range modules() {
		for _, name := range []string{"go.mod", "go.sum"} {
			content, err := os.ReadFile(filepath.Join(recipesDir, module, name)) // #nosec G304 -- files of this checkout.
			if err != nil {
				return "", fmt.Errorf("read the recipe: %w", err)
			}
			_, _ = fmt.Fprintln(hash, module, name, len(content))
			_, _ = hash.Write(content)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// goVersion asks the go command which toolchain it uses for the recipes.
func goVersion(ctx context.Context, dir string) (string, error) {
	command := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask the go command for its version (Go is needed to build the control plane): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Store is a folder of binaries for one set of recipes.
type Store struct {
	// Dir is the folder of the built binaries.
	Dir string
	// recipesDir holds the sub-modules to build from.
	recipesDir string
	// provided is the folder of KUBEBUILDER_ASSETS: what it has is used and not built. Empty when it is not set.
	provided string
	progress io.Writer
}

// Open finds the recipes and their cache folder; it builds nothing. Progress lines go to the given writer.
func Open(ctx context.Context, progress io.Writer) (*Store, error) {
	store := &Store{provided: os.Getenv("KUBEBUILDER_ASSETS"), progress: progress}
	recipesDir, err := recipeFolder()
	if err != nil {
		if store.provides(All()) {
			return store, nil
		}
		return nil, err
	}
	version, err := goVersion(ctx, filepath.Join(recipesDir, "controlplane"))
	if err != nil {
		if store.provides(All()) {
			return store, nil
		}
		return nil, err
	}
	key, err := cacheKey(recipesDir, version)
	if err != nil {
		return nil, err
	}
	root, err := cacheRoot()
	if err != nil {
		return nil, err
	}
	store.recipesDir, store.Dir = recipesDir, filepath.Join(root, key)
	return store, nil
}

// provides reports whether KUBEBUILDER_ASSETS has all the given binaries.
func (s *Store) provides(wanted []Binary) bool {
	if s.provided == "" {
		return false
	}
	for _, binary := range wanted {
		if !isExecutable(filepath.Join(s.provided, string(binary))) {
			return false
		}
	}
	return true
}

// path returns where the binary is, and whether it is there already. What KUBEBUILDER_ASSETS has comes first.
func (s *Store) path(binary Binary) (string, bool) {
	if s.provides([]Binary{binary}) {
		return filepath.Join(s.provided, string(binary)), true
	}
	built := filepath.Join(s.Dir, string(binary))
	return built, isExecutable(built)
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
