// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestCleanTouchesOnlyWhatUpHasMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	if err := Clean(dir); err != nil {
		t.Errorf("clean of a folder that does not exist: %v", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Clean(dir); err == nil {
		t.Error("clean of a folder without a cluster: no error")
	}
	l, unlock, err := claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Clean(dir); !errors.Is(err, errRunning) {
		t.Errorf("clean of a running cluster = %v, want %v", err, errRunning)
	}
	if _, _, err := claim(dir); !errors.Is(err, errRunning) {
		t.Errorf("second claim = %v, want %v", err, errRunning)
	}
	unlock()
	if err := Clean(dir); err != nil {
		t.Errorf("clean of a stopped cluster: %v", err)
	}
	if _, err := os.Stat(l.logs()); !os.IsNotExist(err) {
		t.Errorf("logs after clean: %v, want none", err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("someone else's file after clean: %v", err)
	}
}

func TestFluxFromEnvironmentTakesBothOrNeither(t *testing.T) {
	tests := map[string]struct {
		helm, source string
		want         FluxBinaries
		wantErr      bool
	}{
		"neither is our own":          {},
		"both are the real ones":      {helm: "/h", source: "/s", want: FluxBinaries{HelmController: "/h", SourceController: "/s"}},
		"the helm controller alone":   {helm: "/h", wantErr: true},
		"the source controller alone": {source: "/s", wantErr: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv(HelmControllerVariable, test.helm)
			t.Setenv(SourceControllerVariable, test.source)
			got, err := FluxFromEnvironment()
			if (err != nil) != test.wantErr || got != test.want {
				t.Errorf("= %+v, %v, want %+v, error %t", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestClustersTakeDifferentPorts(t *testing.T) {
	first, err := pickBlock(t.Context(), firstPort)
	if err != nil {
		t.Skipf("the first ports are in use on this machine: %v", err)
	}
	t.Cleanup(func() { _ = first.guard.Close() })
	if _, err := pickBlock(t.Context(), firstPort); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the same block a second time = %v, want %v", err, syscall.EADDRINUSE)
	}
	other, err := pickPorts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.guard.Close() })
	if other.etcd == first.etcd {
		t.Errorf("both clusters have port %d for etcd", other.etcd)
	}
}
