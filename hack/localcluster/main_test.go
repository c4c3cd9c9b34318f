// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// actAsMain makes the test program behave as localcluster itself, children included.
	actAsMain = "LOCALCLUSTER_TEST_ACT_AS_MAIN"
	// eventually bounds the wait for anything that a running cluster does.
	eventually = 4 * time.Minute
	// endLimit bounds a cluster's end: three tiers of processes with 3 s each, and a busy machine.
	endLimit = 30 * time.Second
	// glance is how often it is looked at.
	glance = 100 * time.Millisecond
)

func TestMain(m *testing.M) {
	if os.Getenv(actAsMain) != "" {
		main()
		return
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// localcluster is a running localcluster process.
type localcluster struct {
	command    *exec.Cmd
	dir        string
	kubeconfig string
	charts     string
	stderr     *output
	ended      chan struct{}
}

// output collects what a process writes while others read it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// program prepares a call of localcluster.
func program(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, os.Args[0], args...)
	command.Env = append(os.Environ(), actAsMain+"=1")
	return command
}

// launch starts a cluster and does not wait for it.
func launch(t *testing.T, dir string, args ...string) (*localcluster, *bufio.Reader) {
	t.Helper()
	l := &localcluster{
		command: program(context.Background(), append([]string{"up", "--dir", dir, "--charts-address", "127.0.0.1:0"}, args...)...),
		dir:     dir, stderr: &output{}, ended: make(chan struct{}),
	}
	stdout, err := l.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.command.Stderr = l.stderr
	if err := l.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	t.Cleanup(func() {
		_ = l.command.Process.Kill()
		<-l.ended
		if t.Failed() {
			t.Logf("stderr of %s:\n%s", dir, l.stderr)
		}
	})
	return l, lines
}

// wait collects the end of the process; the reader of its output calls it at the end of that.
func (l *localcluster) wait() {
	_ = l.command.Wait()
	close(l.ended)
}

// up starts a cluster and waits until it says that it is ready.
func up(t *testing.T, dir string, args ...string) *localcluster {
	t.Helper()
	l, lines := launch(t, dir, args...)
	ready, err := lines.ReadString('\n')
	go l.wait()
	if err != nil {
		<-l.ended
		t.Fatalf("The cluster did not get ready: %v\n%s", err, l.stderr)
	}
	for _, field := range strings.Fields(strings.TrimPrefix(ready, "ready: ")) {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "KUBECONFIG":
			l.kubeconfig = value
		case "charts":
			l.charts = value
		}
	}
	if l.kubeconfig == "" || l.charts == "" {
		t.Fatalf("unexpected line: %q", ready)
	}
	return l
}

// stop interrupts the cluster and expects it to end well within the time that a person is ready to wait.
func (l *localcluster) stop(t *testing.T) {
	t.Helper()
	if err := l.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	l.awaitEnd(t, endLimit)
	if code := l.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code after SIGTERM = %d, want 0", code)
	}
}

func (l *localcluster) awaitEnd(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-l.ended:
	case <-time.After(limit):
		t.Fatalf("the cluster did not end within %s", limit)
	}
}

// client returns a client of the cluster.
func (l *localcluster) client(t *testing.T) client.Client {
	t.Helper()
	return clientOf(t, l.kubeconfig)
}

func clientOf(t *testing.T, kubeconfig string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// within polls until the check has nothing to complain about.
func within(t *testing.T, limit time.Duration, check func() string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		complaint := check()
		if complaint == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("within %s: %s", limit, complaint)
		}
		time.Sleep(glance)
	}
}

// processesOf lists the processes with the folder in their command line. Only Linux tells.
func processesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("this system has no /proc to find processes with")
	}
	found := map[string]string{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // It has ended meanwhile.
		}
		commandLine := strings.ReplaceAll(string(content), "\x00", " ")
		if strings.Contains(commandLine, dir+"/") {
			found[filepath.Base(filepath.Dir(file))] = commandLine
		}
	}
	return found
}
