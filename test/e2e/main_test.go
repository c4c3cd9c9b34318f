// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the whole product from outside: its built programs on a real
// control plane, read through kubectl's API and the server's.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/styrmin/styrmin/test/browser"
	"github.com/styrmin/styrmin/test/system"
)

// startTimeout covers a control plane that has to be built first.
const startTimeout = 25 * time.Minute

// busy is what a limit of the product's gets on top: other packages' tests run
// beside this one.
const busy = 10 * time.Second

// sys is the running product that the tests of this package share, in order, and
// managerProgram the path of its manager.
var (
	sys            *system.System
	managerProgram string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	localcluster := os.Getenv("LOCALCLUSTER")
	if localcluster == "" {
		return 1, fmt.Errorf("LOCALCLUSTER is not set: run 'make test', or 'make localcluster' and set it to the path of bin/localcluster")
	}
	dir, err := os.MkdirTemp("", "styrmin-e2e")
	if err != nil {
		return 1, err
	}
	manager, server := filepath.Join(dir, "manager"), filepath.Join(dir, "styrmin-server")
	for program, source := range map[string]string{manager: "../../cmd", server: "../../cmd/server"} {
		race := "-race"
		if os.Getenv("RACE") == "off" { // Benchmarks measure what is shipped.
			race = "-race=false"
		}
		build := exec.CommandContext(context.Background(), "go", "build", race, "-o", program, source)
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("building %s: %w\n%s", source, err, out)
		}
	}
	managerProgram = manager
	manifests, err := system.Kustomize(context.Background(), "../../config/default")
	if err != nil {
		return 1, err
	}
	manifestsFile := filepath.Join(dir, "manifests.yaml")
	if err := os.WriteFile(manifestsFile, manifests, 0o600); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	sys, err = system.Start(ctx, system.Options{
		Dir:          dir,
		Localcluster: localcluster,
		Server:       server,
		Manager:      manager,
		Manifests:    manifestsFile,
		Listen:       "127.0.0.1:0",
		Charts:       "127.0.0.1:0",
		Progress:     os.Stderr,
	})
	if err != nil {
		return 1, err
	}
	code := m.Run()
	browser.Stop()
	if err := sys.Stop(); err != nil {
		return 1, err
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e: the logs are in", filepath.Join(dir, "logs"))
		return code, nil
	}
	return code, os.RemoveAll(dir)
}
