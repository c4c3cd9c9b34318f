// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
)

func TestTheAdminTokenFileIsMadeForItsOwnerAlone(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	info, err := os.Stat(s.program.options.AdminTokenFile)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", info.Mode())
	}
	s.call(s.token, `{ tokens { id } }`, nil)
}

func TestTheAdminTokenIsReadFromItsFile(t *testing.T) {
	dir := t.TempDir()
	const secret = "an-admin-token-of-my-own"
	if err := os.WriteFile(filepath.Join(dir, "admin.token"), []byte("  "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, dir, nil)
	s.call(secret, `{ tokens { id } }`, nil)
}

func TestWithoutAFileTheFirstAdminTokenIsPrintedOnce(t *testing.T) {
	dir := t.TempDir()
	start := func() string {
		var out bytes.Buffer
		program, err := New(t.Context(), Options{
			Listen: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(dir, "styrmin.db"), ReportTimeout: time.Minute,
		}, testr.New(t), &out)
		if err != nil {
			t.Fatal(err)
		}
		if err := program.close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	secret := regexp.MustCompile(`styrmin_\S{40,}`).FindString(start())
	if secret == "" {
		t.Fatal("no token was printed")
	}
	if again := start(); again != "" {
		t.Errorf("the second start prints %q", again)
	}
	s := startServer(t, dir, func(o *Options) { o.AdminTokenFile = "" })
	s.call(secret, `{ tokens { id } }`, nil)
}

// TestNoSecretIsPrintedWhereAFileHoldsIt guards the logs of every later start.
func TestNoSecretIsPrintedWhereAFileHoldsIt(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	program, err := New(t.Context(), Options{
		Listen: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(dir, "styrmin.db"), ReportTimeout: time.Minute,
		AdminTokenFile: filepath.Join(dir, "admin.token"),
	}, testr.New(t), &out)
	if err != nil {
		t.Fatal(err)
	}
	if err := program.close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("it prints %q", out.String())
	}
}
