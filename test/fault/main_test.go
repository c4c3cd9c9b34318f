// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fault does harm to what the truth has to pass on its way from the
// cluster to the server's rows, and checks that nothing false comes out: no row
// is deleted whose object is there, nothing is RUNNING that is not, and no old
// state is shown as new. The API server, the reporter and the server, with its
// database, are real; what stands between them is the tests'.
package fault

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// scenarios is how many run side by side: they wait for the most part.
const scenarios = "8"

// programs are the paths of what is run as a process of its own.
var programs struct{ server, manager string }

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver: run 'make fault'")
	}
	if err := flag.Set("test.parallel", scenarios); err != nil {
		return 1, err
	}
	ctrl.SetLogger(logr.Discard()) // What the tests want to see they log themselves.
	dir, err := os.MkdirTemp("", "styrmin-fault")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs.server, programs.manager = filepath.Join(dir, "styrmin-server"), filepath.Join(dir, "manager")
	for program, source := range map[string]string{programs.server: "../../cmd/server", programs.manager: "../../cmd"} {
		build := exec.CommandContext(context.Background(), "go", "build", "-o", program, source)
		if out, err := build.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("building %s: %w\n%s", source, err, out)
		}
	}
	code := m.Run()
	if env := shared.env; env != nil {
		if err := env.Stop(); err != nil {
			return 1, fmt.Errorf("stopping the API server: %w", err)
		}
	}
	return code, nil
}
