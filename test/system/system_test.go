// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func newServerSystem(t *testing.T, listen string) *System {
	t.Helper()
	program := filepath.Join(t.TempDir(), "styrmin-server")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/server").CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	s, err := prepare(Options{Dir: t.TempDir(), Server: program, Listen: listen})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStartServerTakesNoOtherForItsOwn: whoever has the address already answers
// that it is ready.
func TestStartServerTakesNoOtherForItsOwn(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	s := newServerSystem(t, strings.TrimPrefix(other.URL, "http://"))
	err := s.StartServer(t.Context())
	if err == nil {
		_ = s.Stop()
		t.Fatal("the server has started at an address that another program has")
	}
	if !strings.Contains(err.Error(), "server.log") {
		t.Errorf("want an error that names the log, got %v", err)
	}
}

// TestStartServerGoesOnWhereItWas: what an earlier one logged is not read for its
// own, and its address stays.
func TestStartServerGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	s := newServerSystem(t, "127.0.0.1:0")
	urls := map[string]bool{}
	for range 2 {
		if err := s.StartServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		urls[s.ServerURL] = true
		if err := s.get(t.Context(), "http://"+s.serverMetrics+"/metrics"); err != nil {
			t.Error(err)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if len(urls) != 1 {
		t.Errorf("want one address, got %v", urls)
	}
}
