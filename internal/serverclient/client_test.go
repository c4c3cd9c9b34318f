// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package serverclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWrongConfigurationIsAClearError(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	for name, tc := range map[string]struct{ address, tokenFile, caFile, want string }{
		"an address without a scheme":      {"styrmin.example:8080", "", "", "server address: "},
		"an address of another scheme":     {"ftp://styrmin.example", "", "", "server address: must begin with https:// or http://"},
		"an address without a host":        {"https:///x", "", "", "server address: has no host"},
		"an address that is none":          {"https://a b", "", "", "server address: is not a URL"},
		"an address with a password in it": {"https://me:secret@styrmin.example", "", "", "server address: must not hold credentials"},
		"a token file that is missing":     {"https://styrmin.example", missing, "", "token file: open " + missing},
		"a token file that is empty":       {"https://styrmin.example", empty, "", "token file: " + empty + " is empty"},
		"a CA file that is missing":        {"https://styrmin.example", "", missing, "CA file: open " + missing},
		"a CA file without certificates":   {"https://styrmin.example", "", empty, "CA file: " + empty + " holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(tc.address, tc.tokenFile, tc.caFile, time.Second)
			if err == nil {
				t.Fatal("There is no error")
			}
			if !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error = %q, want one that begins with %q", err, tc.want)
			}
		})
	}
}

func TestTheAddressMayHaveAPath(t *testing.T) {
	for address, want := range map[string]string{
		"https://styrmin.example":          "https://styrmin.example/graphql",
		"https://styrmin.example/":         "https://styrmin.example/graphql",
		"http://127.0.0.1:8080/styrmin/v1": "http://127.0.0.1:8080/styrmin/v1/graphql",
	} {
		if got, err := Endpoint(address); err != nil || got != want {
			t.Errorf("Endpoint(%q) = %q, %v, want %q", address, got, err, want)
		}
	}
}
