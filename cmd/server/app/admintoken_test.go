// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/styrmin/styrmin/server/store/storetest"
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
	start := func() string { return startOnce(t, "sqlite:"+filepath.Join(dir, "styrmin.db"), "") }
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
	if printed := startOnce(t, "sqlite:"+filepath.Join(dir, "styrmin.db"), filepath.Join(dir, "admin.token")); printed != "" {
		t.Errorf("it prints %q", printed)
	}
}

// startOnce starts the program and ends it before it serves; it returns what was
// printed.
func startOnce(t *testing.T, database, tokenFile string) string {
	t.Helper()
	var out bytes.Buffer
	program, err := New(t.Context(), Options{
		Listen: "127.0.0.1:0", Database: database, AdminTokenFile: tokenFile, ReportTimeout: time.Minute,
	}, testr.New(t), &out)
	if err == nil {
		err = program.close()
	}
	if err != nil {
		t.Error(err)
	}
	return out.String()
}

// TestARevokedTokenOfTheFileStaysRevoked, while another one in its place is taken,
// whoever has an admin token already.
func TestARevokedTokenOfTheFileStaysRevoked(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	made := s.call(s.token, `mutation { createToken(name: "mine", role: ADMIN) { secret } }`, nil)
	mine := made["createToken"].(map[string]any)["secret"].(string)
	for _, token := range s.call(mine, `{ tokens { id name } }`, nil)["tokens"].([]any) {
		if token := token.(map[string]any); token["name"] == firstTokenName {
			s.call(mine, `mutation ($id: ID!) { revokeToken(id: $id) }`, map[string]any{"id": token["id"]})
		}
	}
	restart := func() {
		t.Helper()
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
		s = startServer(t, dir, nil)
	}
	restart()
	if got := s.post(s.token, `{ tokens { id } }`, nil); got.Errors == nil {
		t.Error("the revoked token is good again")
	}
	if !bytes.Contains(s.log(), []byte("was revoked")) {
		t.Errorf("the log does not tell of it:\n%s", s.log())
	}

	const another = "another-token-for-the-file"
	if err := os.WriteFile(filepath.Join(dir, "admin.token"), []byte(another), 0o600); err != nil {
		t.Fatal(err)
	}
	restart()
	s.call(another, `{ tokens { id } }`, nil)
}

func TestServersThatStartAtOnceMakeOneFirstAdminToken(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		var printed [4]string
		var ended sync.WaitGroup
		for i := range printed {
			ended.Go(func() { printed[i] = startOnce(t, url, "") })
		}
		ended.Wait()
		if all := regexp.MustCompile(`styrmin_\S{40,}`).FindAllString(strings.Join(printed[:], ""), -1); len(all) != 1 {
			t.Errorf("%d tokens were printed, want 1", len(all))
		}
	})
}

// TestNoTokenIsMadeWhereOneIsKnown: a file that is lost does not make another
// admin at each start.
func TestNoTokenIsMadeWhereOneIsKnown(t *testing.T) {
	dir := t.TempDir()
	database, file := "sqlite:"+filepath.Join(dir, "styrmin.db"), filepath.Join(dir, "admin.token")
	startOnce(t, database, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	startOnce(t, database, file)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was made again: %v", err)
	}
}

// TestATokenFileIsWholeOrNotThere: what cannot be put in its place leaves nothing.
func TestATokenFileIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "admin.token")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := newTokenFile(path); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	secret, err := newTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != secret+"\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}
