// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// configured reads the configuration as a run of the program does.
func configured(t *testing.T, flags config, env map[string]string) (s *settings, warnings string, err error) {
	t.Helper()
	var warned strings.Builder
	s, err = flags.settings(func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}, func(format string, args ...any) { fmt.Fprintf(&warned, format+"\n", args...) })
	return s, warned.String(), err
}

func TestAFlagWinsOverItsVariableAndThatOverTheFile(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".config"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".config", "styrmin")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("serverAddress: https://file\ntoken: from-file\ncaFile: ca.pem\n")
	for name, test := range map[string]struct {
		flags config
		env   map[string]string
		want  settings
	}{
		"the file alone": {
			want: settings{ServerAddress: "https://file", Token: "from-file", CAFile: filepath.Join(home, ".config", "ca.pem")},
		},
		"the variables": {
			env: map[string]string{
				"STYRMIN_SERVER_ADDRESS": "https://variable", "STYRMIN_TOKEN": "from-variable", "STYRMIN_CA_FILE": "/ca",
			},
			want: settings{ServerAddress: "https://variable", Token: "from-variable", CAFile: "/ca"},
		},
		"the flags": {
			flags: config{serverAddress: "https://flag", tokenFile: "/token", caFile: "/flag-ca"},
			env:   map[string]string{"STYRMIN_SERVER_ADDRESS": "https://variable", "STYRMIN_TOKEN": "from-variable", "STYRMIN_TOKEN_FILE": "/other"},
			want:  settings{ServerAddress: "https://flag", TokenFile: "/token", CAFile: "/flag-ca"},
		},
		"a token of its own for the file's server": {
			env:  map[string]string{"STYRMIN_TOKEN": "mine"},
			want: settings{ServerAddress: "https://file", Token: "mine", CAFile: filepath.Join(home, ".config", "ca.pem")},
		},
		"the file's token stays with the file's server": {
			flags: config{serverAddress: "https://other"}, want: settings{ServerAddress: "https://other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"HOME": home}
			for key, value := range test.env {
				env[key] = value
			}
			got, warnings, err := configured(t, test.flags, env)
			if err != nil || warnings != "" {
				t.Fatalf("%v, warnings: %s", err, warnings)
			}
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("the settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfigurationThatIsWrongIsAnErrorThatNamesIt(t *testing.T) {
	m := &machine{T: t, env: map[string]string{"HOME": t.TempDir()}}
	empty := m.file("empty", "\n")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no server":                  {nil, "no server is configured: give its address with --server-address, STYRMIN_SERVER_ADDRESS"},
		"an address that is none":    {[]string{"--server-address", "styrmin"}, "--server-address: the server address must begin with https://"},
		"a token file that is gone":  {[]string{"--server-address", "https://x", "--token-file", "/none"}, "--token-file: open /none"},
		"an empty token file":        {[]string{"--server-address", "https://x", "--token-file", empty}, "is empty"},
		"certificates that are none": {[]string{"--server-address", "https://x", "--ca-file", empty}, "--ca-file: " + empty + " holds no certificate"},
		"a file that is gone":        {[]string{"--config", "/none"}, "reading the configuration: open /none"},
		"a file with a typing error": {[]string{"--config", m.file("config", "server: x\n")}, `unknown field "server"`},
	} {
		got := m.run(ExitUsage, append([]string{"deployments", "list"}, test.args...)...)
		if !strings.Contains(got.err.String(), test.want) {
			t.Errorf("%s: it says %q, want %q", name, got.err.String(), test.want)
		}
	}
}

func TestWhatIsUnsafeIsWarnedOf(t *testing.T) {
	m := &machine{T: t}
	path := m.file("config", "serverAddress: http://styrmin.example\ntoken: secret\n")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	_, warnings, err := configured(t, config{file: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.wantIn("the warnings", warnings, "others can read the token in "+path+": run chmod 600", "the token travels unencrypted to http://styrmin.example")
	if strings.Contains(warnings, "secret") {
		t.Errorf("a warning tells the token: %s", warnings)
	}
	for _, address := range []string{"http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost:8080", "https://styrmin.example"} {
		if _, warnings, err := configured(t, config{serverAddress: address}, map[string]string{"STYRMIN_TOKEN": "x"}); err != nil || warnings != "" {
			t.Errorf("%s: %v, %s", address, err, warnings)
		}
	}
}

func TestAPrivateCertificateIsTrustedAndTheTokenReadAnew(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	var got []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		if err := os.WriteFile(token, []byte("second\n"), 0o600); err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte(`{"data": {"clusters": []}}`))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	m := &machine{T: t, env: map[string]string{"STYRMIN_TOKEN_FILE": token, "STYRMIN_SERVER_ADDRESS": server.URL}}
	if err := os.WriteFile(token, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	untrusted := m.run(ExitError, "clusters", "list", "-o", "name")
	m.wantIn("the error", untrusted.err.String(), "is not trusted", "--ca-file")
	m.env["STYRMIN_CA_FILE"] = m.file("stranger.pem", strangersCertificate(t))
	untrusted = m.run(ExitError, "clusters", "list", "-o", "name")
	m.wantIn("the error with a certificate of another server", untrusted.err.String(), "is not trusted", "--ca-file")
	m.env["STYRMIN_CA_FILE"] = m.file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	m.run(ExitOK, "deployments", "apply", "--help")
	m.run(ExitOK, "clusters", "list", "-o", "name")
	s, _, err := configured(t, config{}, m.env)
	if err != nil {
		t.Fatal(err)
	}
	client, err := s.client()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.Clusters.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Bearer first", "Bearer second", "Bearer second"}, got); diff != "" {
		t.Errorf("the tokens (-want +got):\n%s", diff)
	}
}

// strangersCertificate is one of a server that is not called.
func strangersCertificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, certificate, certificate, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestMistakesOnTheCommandLineAreUsageErrors(t *testing.T) {
	m := &machine{T: t, env: map[string]string{"STYRMIN_SERVER_ADDRESS": "http://127.0.0.1:1"}}
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":          {[]string{"deploymints"}, `unknown command "deploymints"`},
		"an unknown command below":    {[]string{"deployments", "remove"}, `unknown command "remove"`},
		"an unknown flag":             {[]string{"deployments", "list", "--sort"}, "unknown flag: --sort"},
		"an argument too many":        {[]string{"clusters", "list", "x"}, `unexpected argument "x": styrminctl clusters list`},
		"a file without its flag":     {[]string{"deployments", "apply", "x.yaml"}, `unexpected argument "x.yaml": styrminctl deployments apply -f FILE`},
		"an argument too few":         {[]string{"deployments", "scale", "shop"}, "COMPONENT=REPLICAS is missing: styrminctl deployments scale NAME COMPONENT=REPLICAS…"},
		"no file to apply":            {[]string{"deployments", "apply"}, `nothing to apply: name a file with -f`},
		"a format that is none":       {[]string{"deployments", "list", "-o", "xml"}, "must be one of wide, json, yaml, name"},
		"a file that does not exist":  {[]string{"deployments", "apply", "-f", "/none.yaml"}, "/none.yaml: no such file"},
		"standard input with nothing": {[]string{"deployments", "apply", "-f", "-"}, "there is no StyrminDeployment in -"},
	} {
		got := m.run(ExitUsage, test.args...)
		m.wantIn(name, got.err.String(), "Error: ", test.want)
		if n := strings.Count(got.err.String(), "Error:"); n != 1 || got.out.String() != "" {
			t.Errorf("%s: it printed %q and %q", name, got.out.String(), got.err.String())
		}
	}
}

func TestAServerThatIsAwayHasAnExitCodeOfItsOwn(t *testing.T) {
	m := &machine{T: t, env: map[string]string{"STYRMIN_SERVER_ADDRESS": "http://127.0.0.1:1"}}
	got := m.run(ExitUnavailable, "deployments", "list")
	m.wantIn("the error", got.err.String(), "Error: listing clusters: the server at http://127.0.0.1:1 does not answer: ", "connection refused", "Check that the server runs")
	version := m.run(ExitUnavailable, "version")
	if want := "Client: v1.2.3\n"; version.out.String() != want {
		t.Errorf("version printed %q, want %q", version.out.String(), want)
	}
	m.run(ExitOK, "version", "--client")
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	w := newWorld(t)
	viewer, err := w.client().Tokens.Create(t.Context(), "viewer", "VIEWER")
	if err != nil {
		t.Fatal(err)
	}
	w.env["STYRMIN_TOKEN"] = viewer.Secret
	forbidden := w.run(ExitError, "clusters", "create", "mine")
	w.wantIn("the error", forbidden.err.String(), "may not call createCluster", "Use the token of an admin.")
	w.env["STYRMIN_TOKEN"] = "styrmin_unknown"
	unknown := w.run(ExitError, "clusters", "list")
	w.wantIn("the error", unknown.err.String(), "UNAUTHENTICATED", "Set a valid token with STYRMIN_TOKEN")
	if strings.Contains(unknown.err.String(), "styrmin_unknown") {
		t.Errorf("it tells the token: %s", unknown.err.String())
	}
	w.env["STYRMIN_TOKEN"] = viewer.Secret
	w.run(ExitNotFound, "tasks", "get", "none")
	w.run(ExitNotFound, "tasks", "wait", "none")
	w.run(ExitNotFound, "deployments", "list", "--cluster", "none")
	w.run(ExitNotFound, "clusters", "rotate-token", "none")
}

func TestClustersAreRegisteredAndTheirTokensToldOnce(t *testing.T) {
	w := newWorld(t)
	created := w.run(ExitOK, "clusters", "create", "staging")
	w.wantIn("what it prints", created.out.String(), "cluster/staging created\n", "The agent's token, shown this once:\n\n  styrmin_")
	rotated := w.run(ExitOK, "clusters", "rotate-token", "staging", "-o", "json")
	var answer struct {
		AgentToken string
		Cluster    struct{ Name string }
	}
	if err := json.Unmarshal([]byte(rotated.out.String()), &answer); err != nil || answer.Cluster.Name != "staging" ||
		strings.Contains(created.out.String(), answer.AgentToken) {
		t.Errorf("it printed %s, %v", rotated.out.String(), err)
	}
	listed := w.run(ExitOK, "clusters", "list", "-o", "name")
	if want := "cluster/production\ncluster/staging\n"; listed.out.String() != want {
		t.Errorf("it listed %q, want %q", listed.out.String(), want)
	}
	// With two clusters, one must be named.
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	which := w.run(ExitUsage, "deployments", "apply", "-f", path)
	w.wantIn("the error", which.err.String(), "say which one with --cluster: production, staging")
	w.run(ExitOK, "deployments", "apply", "-f", path, "--cluster", "staging")
	version := w.run(ExitOK, "version", "-o", "json")
	w.wantIn("the version", version.out.String(), `"client": "v1.2.3"`, `"server": {`)
}

func TestANameThatSeveralHaveIsNotGuessed(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	for _, environment := range []string{"prod", "test"} {
		if err := os.WriteFile(filepath.Join(folder, environment+".yaml"), []byte(shop("shop", environment, "1")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.run(ExitOK, "deployments", "apply", "-f", folder)
	which := w.run(ExitUsage, "deployments", "scale", "shop", "server=1")
	w.wantIn("the error", which.err.String(), `2 deployments are named "shop": say which one with --environment, --cluster or its id`,
		"ENVIRONMENT", "prod", "test", "production")
	w.run(ExitOK, "deployments", "get", "shop", "--environment", "prod", "--cluster", "production")
	w.run(ExitNotFound, "deployments", "get", "shop", "-e", "staging")
	var listed []struct{ ID, Environment string }
	list := w.run(ExitOK, "deployments", "list", "-e", "test", "-o", "json")
	if err := json.Unmarshal([]byte(list.out.String()), &listed); err != nil || len(listed) != 1 {
		t.Fatalf("%v: %s", err, list.out.String())
	}
	byID := w.run(ExitOK, "deployments", "get", listed[0].ID)
	w.wantIn("the deployment", byID.out.String(), "Environment:  test", "PENDING")
	both := w.run(ExitUsage, "deployments", "apply", "-f", folder, "-f", filepath.Join(folder, "test.yaml"))
	w.wantIn("the error", both.err.String(), "deployment shop of environment test is in ")
}

// TestAnIDIsOfThePlaceThatIsNamedWithIt: an id that was copied from elsewhere must
// not change what is there.
func TestAnIDIsOfThePlaceThatIsNamedWithIt(t *testing.T) {
	w := newWorld(t)
	w.run(ExitOK, "clusters", "create", "staging")
	w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "1")), "--cluster", "production")
	var listed []struct{ ID string }
	list := w.run(ExitOK, "deployments", "list", "-o", "json")
	if err := json.Unmarshal([]byte(list.out.String()), &listed); err != nil || len(listed) != 1 {
		t.Fatalf("%v: %s", err, list.out.String())
	}
	id := listed[0].ID
	for place, flags := range map[string][]string{
		"in environment test":                    {"--environment", "test"},
		"in cluster staging":                     {"--cluster", "staging"},
		"in environment prod in cluster staging": {"--environment", "prod", "--cluster", "staging"},
	} {
		refused := w.run(ExitNotFound, append([]string{"deployments", "delete", id, "--yes"}, flags...)...)
		w.wantIn("the error", refused.err.String(), fmt.Sprintf("Error: there is no deployment %q %s: see styrminctl deployments list", id, place))
	}
	got := w.run(ExitOK, "deployments", "get", id, "--environment", "prod", "--cluster", "production")
	w.wantIn("the deployment", got.out.String(), "PENDING for ")
}

func TestShellsCompleteNames(t *testing.T) {
	w := newWorld(t)
	w.deployed()
	for line, want := range map[string]string{
		"deployments get ":                  "shop\tprod, RUNNING\n:4\n",
		"deployments get shop ":             ":4\n",
		"deployments scale shop s":          "server=\n:6\n",
		"deployments stop shop ":            "server\n:4\n",
		"deployments run-job ":              "shop\tprod, RUNNING\n:4\n",
		"deployments run-job shop ":         "migrate\n:4\n",
		"deployments run-job shop migrate ": ":4\n",
		"deployments list --environment ":   "prod\n:4\n",
		"deployments list --cluster ":       "production\n:4\n",
		"deployments list --status ":        "pending\ndeploying\nrunning\nfailed\ndeleting\ndeleted\n:4\n",
		"deployments list -o ":              "wide\njson\nyaml\nname\n:4\n",
		"clusters rotate-token ":            "production\n:4\n",
		"clusters rotate-token production ": ":4\n",
		"deployments stop none ":            ":4\n",
	} {
		got := w.run(ExitOK, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		if diff := cmp.Diff(want, got.out.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
	w.env["STYRMIN_SERVER_ADDRESS"] = ""
	away := w.run(ExitOK, "__complete", "deployments", "get", "")
	if want := ":4\n"; away.out.String() != want {
		t.Errorf("without a server it completes %q", away.out.String())
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if script := w.run(ExitOK, "completion", shell); !strings.Contains(script.out.String(), "styrminctl") {
			t.Errorf("there is no completion for %s", shell)
		}
	}
}
