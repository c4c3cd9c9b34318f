// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// buildFlags make the binaries the same wherever they are built.
var buildFlags = []string{"-mod=readonly", "-trimpath"}

// linkFlags keep the binaries small.
const linkFlags = "-s -w"

// lockPollInterval is how often a build that waits for another one looks whether that one has ended.
const lockPollInterval = 200 * time.Millisecond

// Ensure returns the path of each wanted binary, and builds those that are missing. Builds at the same time, also of
// other processes, wait for each other; a build that is interrupted leaves nothing that would be taken for a binary.
func (s *Store) Ensure(ctx context.Context, wanted ...Binary) (map[Binary]string, error) {
	if paths, complete := s.paths(wanted); complete {
		return paths, nil
	}
	if err := os.MkdirAll(s.Dir, 0o750); err != nil {
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, r := range recipes {
		if !slices.Contains(wanted, r.binary) {
			continue
		}
		if _, present := s.path(r.binary); present {
			continue
		}
		if err := s.build(ctx, r); err != nil {
			return nil, fmt.Errorf("build %s: %w", r.binary, err)
		}
	}
	paths, complete := s.paths(wanted)
	if !complete {
		return nil, fmt.Errorf("the build left no %v in %s", wanted, s.Dir)
	}
	return paths, nil
}

// EnsureAssets returns a folder that has all that envtest needs.
func (s *Store) EnsureAssets(ctx context.Context) (string, error) {
	if s.provides(Assets()) {
		return filepath.Abs(s.provided)
	}
	built := *s
	built.provided = "" // envtest takes one folder, so a part of another one is of no use.
	if _, err := built.Ensure(ctx, Assets()...); err != nil {
		return "", err
	}
	return built.Dir, nil
}

// paths returns where the wanted binaries are, and whether all of them are there.
func (s *Store) paths(wanted []Binary) (map[Binary]string, bool) {
	paths := make(map[Binary]string, len(wanted))
	complete := true
	for _, binary := range wanted {
		path, present := s.path(binary)
		paths[binary] = path
		complete = complete && present
	}
	return paths, complete
}

// lock takes the store's lock, which ends with the process that holds it, however that ends.
func (s *Store) lock(ctx context.Context) (func(), error) {
	lock := flock.New(filepath.Join(s.Dir, ".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the cache folder: %w", err)
	}
	if !locked {
		_, _ = fmt.Fprintln(s.progress, "Waiting for another build of the control plane to end")
		if _, err := lock.TryLockContext(ctx, lockPollInterval); err != nil {
			return nil, fmt.Errorf("wait for another build: %w", err)
		}
	}
	return func() { _ = lock.Unlock() }, nil
}

// build builds one binary beside its place and renames it, so that a half-written one is never seen.
func (s *Store) build(ctx context.Context, r recipe) (err error) {
	step := startStep(s.progress, fmt.Sprintf("Building %s (about %s the first time)", r.binary, minutes(r.minutes)))
	defer func() { step.end(err) }()
	temporary, err := os.MkdirTemp(s.Dir, ".building-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	output := filepath.Join(temporary, string(r.binary))
	dir := filepath.Join(s.recipesDir, r.module)
	stamps, err := versionStamps(dir)
	if err != nil {
		return err
	}
	args := append([]string{"build"}, buildFlags...)
	args = append(args, "-ldflags="+linkFlags+stamps, "-o", output, r.pkg)
	command := exec.CommandContext(ctx, "go", args...) // #nosec G204 -- constants of this package.
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	var messages bytes.Buffer
	command.Stdout, command.Stderr = &messages, &messages
	if err := command.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, messages.String())
	}
	return os.Rename(output, filepath.Join(s.Dir, string(r.binary)))
}

func minutes(n int) string {
	if n == 1 {
		return "1 minute"
	}
	return fmt.Sprintf("%d minutes", n)
}
