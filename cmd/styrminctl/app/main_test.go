// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/sdk"
	"github.com/styrmin/styrmin/sdk/sdktest"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(sdktest.Main(m))
}

// checkGolden compares with a golden file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), run with -update to write it:\n%s", name, diff)
	}
}

// buffer is output that the program writes while a test reads it.
type buffer struct {
	mu      sync.Mutex
	content bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.content.String()
}

// patience is how long a test waits for what must come, on a busy machine too.
const patience = 2 * time.Minute

// command is one run of the program.
type command struct {
	t        *testing.T
	out, err buffer
	cancel   context.CancelFunc
	ended    chan int
}

// wait returns the exit code.
func (c *command) wait() int {
	c.t.Helper()
	select {
	case code := <-c.ended:
		return code
	case <-time.After(patience):
		c.t.Fatalf("It did not end; stdout:\n%s\nstderr:\n%s", c.out.String(), c.err.String())
	}
	return -1
}

// until waits until a stream has the text.
func (c *command) until(stream *buffer, text string) {
	c.t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(stream.String(), text); {
		if time.Now().After(end) {
			c.t.Fatalf("It never said %q; stdout:\n%s\nstderr:\n%s", text, c.out.String(), c.err.String())
		}
		<-time.After(5 * time.Millisecond)
	}
}

// machine is where the program runs: environment variables and standard input.
type machine struct {
	*testing.T
	env map[string]string
	in  io.Reader
}

// start runs the program in the background.
func (m *machine) start(args ...string) *command {
	m.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	m.Cleanup(cancel)
	c := &command{t: m.T, cancel: cancel, ended: make(chan int, 1)}
	in := m.in
	if in == nil {
		in = strings.NewReader("")
	}
	a := &app{
		Environment: Environment{In: in, Out: &c.out, Err: &c.err, Version: "v1.2.3", LookupEnv: m.lookup},
		interval:    20 * time.Millisecond, clock: time.Now,
	}
	go func() { c.ended <- run(ctx, args, a) }()
	return c
}

func (m *machine) lookup(name string) (string, bool) {
	value, ok := m.env[name]
	return value, ok
}

// run runs the program to its end and checks its exit code.
func (m *machine) run(wantCode int, args ...string) *command {
	m.Helper()
	c := m.start(args...)
	if code := c.wait(); code != wantCode {
		m.Errorf("styrminctl %s ended with %d, want %d; stdout:\n%s\nstderr:\n%s",
			strings.Join(args, " "), code, wantCode, c.out.String(), c.err.String())
	}
	return c
}

// wantIn checks that all the texts are in what the program printed.
func (m *machine) wantIn(what, got string, texts ...string) {
	m.Helper()
	for _, text := range texts {
		if !strings.Contains(got, text) {
			m.Errorf("%s lacks %q:\n%s", what, text, got)
		}
	}
}

// file writes a file and returns its path.
func (m *machine) file(name, content string) string {
	m.Helper()
	path := filepath.Join(m.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.Fatal(err)
	}
	return path
}

// world is a machine beside a real server with a cluster.
type world struct {
	machine
	server *sdktest.Server
	agent  *sdktest.Agent
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	server := sdktest.Start(t)
	return &world{
		machine: machine{T: t, env: map[string]string{
			"STYRMIN_SERVER_ADDRESS": server.URL, "STYRMIN_TOKEN": server.AdminToken, "HOME": t.TempDir(),
		}},
		server: server, agent: server.NewCluster(t, "production"),
	}
}

// client calls the same server.
func (w *world) client() *sdk.Client {
	w.Helper()
	client, err := sdk.New(w.server.URL, sdk.WithToken(w.server.AdminToken))
	if err != nil {
		w.Fatal(err)
	}
	return client
}

// shop is a manifest of an application of three server pods.
func shop(name, environment, version string) string {
	return strings.NewReplacer("NAME", name, "ENVIRONMENT", environment, "VERSION", version).Replace(`apiVersion: styrmin.io/v1alpha1
kind: StyrminDeployment
metadata:
  name: NAME
spec:
  environment: ENVIRONMENT
  version: "VERSION"
  helmRelease:
    releaseName: shop
    chart: {repository: "oci://charts.example.com", name: shop, version: "VERSION"}
  components:
  - name: server
    replicas: 3
    replicasValue: server.replicas
    selector: {matchLabels: {component: server}}
  jobs:
  - name: migrate
    template: {template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: registry.example/migrate}]}}}
  hooks:
    upgrade: {pre: [{stopComponents: [server]}], post: [{startComponents: [server]}]}
`)
}

// deployed lets the agent work and is a shop that runs.
func (w *world) deployed() {
	w.Helper()
	w.agent.Work(w)
	w.run(ExitOK, "deployments", "apply", "-f", w.file("shop.yaml", shop("shop", "prod", "2.4.0")), "--wait")
}
