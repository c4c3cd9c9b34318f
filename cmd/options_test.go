// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseOptionsRefusesWhatCannotWork(t *testing.T) {
	for sentence, test := range map[string]struct {
		args    []string
		env     map[string]string
		wantErr string
	}{
		"no server to report to": {
			wantErr: "--server-address is needed",
		},
		"no server to take tasks from": {
			args:    []string{"--disable", "reporter"},
			wantErr: "--server-address is needed",
		},
		"a server address without a scheme": {
			args:    []string{"--server-address", "styrmin.example"},
			wantErr: "--server-address must begin with https:// or http://; an example is https://styrmin.example",
		},
		"a server address with a password in it": {
			args:    []string{"--server-address", "https://agent:secret@styrmin.example"},
			wantErr: "--server-address must not hold credentials",
		},
		"a server address with a password in it and a wrong scheme": {
			args:    []string{"--server-address", "htps://agent:secret@styrmin.example"},
			wantErr: "--server-address must begin with https:// or http://",
		},
		"a token file that does not exist": {
			args:    []string{"--server-address", "https://styrmin.example", "--token-file", "/nowhere/token"},
			wantErr: "--token-file: stat /nowhere/token",
		},
		"an authority file that does not exist, named in the environment": {
			args:    []string{"--server-address", "https://styrmin.example"},
			env:     map[string]string{"STYRMIN_CA_FILE": "/nowhere/ca.pem"},
			wantErr: "--ca-file: stat /nowhere/ca.pem",
		},
		"reports faster than a second": {
			args:    []string{"--server-address", "https://styrmin.example", "--report-interval", "10ms"},
			wantErr: "--report-interval: 10ms is shorter than 1s",
		},
		"a part that does not exist": {
			args:    []string{"--server-address", "https://styrmin.example", "--disable", "reporter,gardener"},
			wantErr: `--disable: unknown part "gardener", known are worker, operator, reporter`,
		},
		"a selector that is none": {
			args:    []string{"--server-address", "https://styrmin.example", "--pod-selector", "a in"},
			wantErr: "pod-selector",
		},
		"an argument that is no flag": {
			args:    []string{"--server-address", "https://styrmin.example", "now"},
			wantErr: `unexpected argument "now"`,
		},
		"an unknown flag": {
			args:    []string{"--server"},
			wantErr: "-server",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			_, err := parseOptions(test.args, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.wantErr) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got error %v, want one with %q and no secret", err, test.wantErr)
			}
		})
	}
}

func TestParseOptionsReadsFlagsThenEnvironment(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STYRMIN_SERVER_ADDRESS", "https://environment.example")
	t.Setenv("STYRMIN_TOKEN_FILE", token)
	t.Setenv("STYRMIN_NAMESPACES", "a, b")
	o, err := parseOptions([]string{"--server-address", "https://flag.example", "--report-interval", "7s", "--pod-selector", "app=shop"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{o.serverAddress, o.tokenFile, o.namespaces, o.reportInterval, o.podSelector.String(), o.enabled(partOperator)}
	want := []any{"https://flag.example", token, []string{"a", "b"}, 7 * time.Second, "app=shop", true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestTheOperatorAloneNeedsNoServer(t *testing.T) {
	o, err := parseOptions([]string{"--disable", "worker,reporter"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if o.enabled(partReporter) || o.enabled(partWorker) || !o.enabled(partOperator) {
		t.Errorf("want the operator alone, got disabled %v", o.disabled)
	}
}

func TestEveryFlagIsExplained(t *testing.T) {
	help := &bytes.Buffer{}
	if _, err := parseOptions([]string{"--help"}, help); err == nil {
		t.Fatal("--help must end the program")
	}
	for _, flag := range []string{
		"server-address", "token-file", "ca-file", "cluster-id", "report-interval", "pod-selector", "namespaces", "disable",
		"leader-elect", "leader-election-namespace", "metrics-bind-address", "metrics-secure", "health-probe-bind-address",
		"zap-log-level", "kubeconfig", "version",
	} {
		if !strings.Contains(help.String(), "-"+flag) {
			t.Errorf("--help does not tell of --%s", flag)
		}
	}
}
