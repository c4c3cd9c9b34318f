// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestBadConfigurationEndsTheProgramAndNamesTheFlag(t *testing.T) {
	dir := t.TempDir()
	short := filepath.Join(dir, "short.token")
	if err := os.WriteFile(short, []byte("admin\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"an unknown flag":                   {args: []string{"--lisen=x"}, want: "--lisen"},
		"an address without a port":         {args: []string{"--listen=localhost"}, want: "--listen"},
		"a metrics address without a port":  {args: []string{"--metrics-listen=localhost"}, want: "--metrics-listen"},
		"a port that cannot be listened on": {args: []string{"--listen=127.0.0.1:99999"}, want: "--listen"},
		"an unknown database":               {args: []string{"--database=mysql://x"}, want: "--database"},
		"a database without a path":         {args: []string{"--database=sqlite:"}, want: "--database"},
		"a database in a missing folder":    {args: []string{"--database=sqlite:" + dir + "/none/x.db"}, want: "--database"},
		"a PostgreSQL URL with a typing error, whose password stays secret": {
			args: []string{"--database=postgres://user:hunter2@host:port/db"}, want: "--database",
		},
		"a PostgreSQL server that is not there, whose password stays secret": {
			args: []string{"--database=postgres://user:hunter2@127.0.0.1:1/db?connect_timeout=1"}, want: "--database",
		},
		"a certificate without its key":          {args: []string{"--tls-cert-file=x"}, want: "--tls-key-file"},
		"a key without its certificate":          {args: []string{"--tls-key-file=x"}, want: "--tls-cert-file"},
		"a certificate that does not exist":      {args: []string{"--tls-cert-file=/none", "--tls-key-file=" + short}, want: "--tls-cert-file"},
		"a report interval of less than seconds": {args: []string{"--report-interval=1500ms"}, want: "--report-interval"},
		"a report timeout of nothing":            {args: []string{"--report-timeout=0s"}, want: "--report-timeout"},
		"a report interval that is as silence":   {args: []string{"--report-interval=31s"}, want: "--report-interval"},
		"a report timeout that is no time, from the environment": {
			env: map[string]string{"STYRMIN_REPORT_TIMEOUT": "soon"}, want: "--report-timeout, from STYRMIN_REPORT_TIMEOUT",
		},
		"an admin token that can be guessed": {args: []string{"--admin-token-file=" + short}, want: "--admin-token-file"},
		"an argument":                        {args: []string{"serve"}, want: "serve"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range test.env {
				t.Setenv(key, value)
			}
			var out bytes.Buffer
			command := NewCommand("test")
			command.SetErr(&out)
			command.SetOut(io.Discard)
			command.SetArgs(slices.Concat(
				[]string{"--database=sqlite:" + filepath.Join(t.TempDir(), "x.db"), "--listen=127.0.0.1:0", "--metrics-listen="}, test.args))
			if err := command.ExecuteContext(t.Context()); err == nil {
				t.Fatal("the program ran")
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("the message does not name %s: %s", test.want, out.String())
			}
			if strings.Contains(out.String(), "hunter2") {
				t.Errorf("the message shows a password: %s", out.String())
			}
		})
	}
}

func TestEveryFlagIsAnEnvironmentVariableToo(t *testing.T) {
	var got Options
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	got.AddFlags(flags)
	if err := flags.Parse([]string{"--listen=127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{
		"STYRMIN_LISTEN":                  "127.0.0.1:2",
		"STYRMIN_METRICS_LISTEN":          "127.0.0.1:3",
		"STYRMIN_DATABASE":                "sqlite:env.db",
		"STYRMIN_ADMIN_TOKEN_FILE":        "admin",
		"STYRMIN_TLS_CERT_FILE":           "cert",
		"STYRMIN_TLS_KEY_FILE":            "key",
		"STYRMIN_REPORT_INTERVAL":         "10s",
		"STYRMIN_REPORT_TIMEOUT":          "90s",
		"STYRMIN_ALLOW_ANONYMOUS_REPORTS": "true",
	}
	used := map[string]bool{}
	err := applyEnvironment(flags, func(name string) (string, bool) {
		used[name] = true
		value, ok := environment[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Options{
		Listen: "127.0.0.1:1", MetricsListen: "127.0.0.1:3", Database: "sqlite:env.db", AdminTokenFile: "admin",
		TLSCertFile: "cert", TLSKeyFile: "key", ReportInterval: 10 * time.Second, ReportTimeout: 90 * time.Second, AllowAnonymousReports: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	for name := range used {
		if _, known := environment[name]; !known {
			t.Errorf("%s is not tested", name)
		}
	}
}
