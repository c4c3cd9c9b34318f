// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lastLine is how the demo's last line of explanation begins.
const lastLine = "Logs are in "

// TestDemo runs the built demo as make demo does: it says everything in order,
// what it says to try works, Ctrl-C ends all of it, and a second start goes on
// from there.
func TestDemo(t *testing.T) {
	if _, err := os.Stat("../../bin/demo"); err != nil {
		t.Fatalf("the demo is not built, run 'make test': %v", err)
	}
	dir := t.TempDir()
	t.Run("first start", func(t *testing.T) {
		demo, lines := startDemo(t, dir)
		checkOrder(t, lines)
		stopDemo(t, demo, dir)
	})
	t.Run("second start", func(t *testing.T) {
		demo, lines := startDemo(t, dir)
		checkOrder(t, lines)
		tryAll(t, lines)
		stopDemo(t, demo, dir)
	})
}

// TestDemoOnAnExistingCluster uses a cluster with a Flux of its own, as a person
// would who has one.
func TestDemoOnAnExistingCluster(t *testing.T) {
	kubeconfig, kubectl := startExisting(t)
	dir := t.TempDir()
	demo, lines := startDemo(t, dir, "--kubeconfig", kubeconfig, "--image", "registry.example/anything:1")
	checkOrder(t, lines)
	if first := lines[lineWith(t, lines, "--kubeconfig")]; !strings.HasPrefix(first, "  kubectl ") {
		t.Errorf("want the person's own kubectl in: %s", first)
	}
	answer := shell(t, kubectl+" --kubeconfig "+kubeconfig+" get pods -A -o jsonpath='{..image}'")
	if n := strings.Count(answer, "registry.example/anything:1"); n < 4 {
		t.Errorf("want four pods of the image, got the images %s", answer)
	}
	stopDemo(t, demo, dir)
}

// startExisting starts a cluster that looks as if someone else had made it, and
// returns the paths of its kubeconfig and of its kubectl.
func startExisting(t *testing.T) (kubeconfig, kubectl string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cluster := exec.CommandContext(ctx, "../../bin/localcluster", "up", "--dir", t.TempDir(), "--charts-address", "127.0.0.1:0")
	cluster.Stderr = os.Stderr
	cluster.Cancel = func() error { return cluster.Process.Signal(os.Interrupt) }
	stdout, err := cluster.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cluster.Wait()
	})
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the cluster did not get ready: %v", err)
	}
	for _, field := range strings.Fields(ready) {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "KUBECONFIG":
			kubeconfig = value
		case "kubectl":
			kubectl = value
		}
	}
	// Without this label its Flux counts as not ours.
	shell(t, kubectl+" --kubeconfig "+kubeconfig+" label crd helmreleases.helm.toolkit.fluxcd.io localcluster.styrmin.io/installed-")
	return kubeconfig, kubectl
}

// startDemo starts the demo and reads its output to the last line of explanation.
func startDemo(t *testing.T, dir string, args ...string) (*exec.Cmd, []string) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	demo := exec.CommandContext(ctx, "bin/demo", append(args, "--dir", dir, "--listen", "127.0.0.1:0", "--charts-address", "127.0.0.1:0")...)
	demo.Dir, demo.Stderr = "../..", os.Stderr
	// It ends its programs itself, when a test fails too.
	demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
	demo.WaitDelay = time.Minute
	stdout, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
		lines = append(lines, scanner.Text())
		if strings.HasPrefix(scanner.Text(), lastLine) {
			go func() { _, _ = io.Copy(io.Discard, stdout) }()
			t.Logf("everything was up after %.0fs", time.Since(began).Seconds())
			return demo, lines
		}
	}
	t.Fatalf("the demo ended early (%v):\n%s", demo.Wait(), strings.Join(lines, "\n"))
	return nil, nil
}

// checkOrder checks that the demo says what people need, in order.
func checkOrder(t *testing.T, lines []string) {
	t.Helper()
	text := strings.Join(lines, "\n")
	at := 0
	for _, part := range []string{
		"Waiting for the sample", "RUNNING, 4 of 4 pods ready", "Server ", "Admin token ", "kubectl --kubeconfig", "curl -s", "bin/styrminctl", lastLine,
	} {
		next := strings.Index(text[at:], part)
		if next < 0 {
			t.Fatalf("want %q after what came before it in:\n%s", part, text)
		}
		at += next
	}
}

// tryAll runs every command that the demo shows to try, in its order.
func tryAll(t *testing.T, lines []string) {
	t.Helper()
	shown := strings.Join(lines[lineWith(t, lines, "Try, in another terminal")+1:len(lines)-1], "\n")
	shown = strings.ReplaceAll(shown, "\\\n", "")
	export := ""
	tried := 0
	for line := range strings.Lines(shown) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "export "):
			export = line
		default:
			answer := shell(t, export+"\n"+line+` || echo "ended with $?"`)
			if tried == len(answers) {
				t.Fatalf("the answer to %q is not known", line)
			}
			for _, want := range answers[tried] {
				if !strings.Contains(answer, want) {
					t.Errorf("want %q in the answer to %q, got:\n%s", want, line, answer)
				}
			}
			if failed := strings.Contains(answer, "ended with "); failed != slices.Contains(answers[tried], "ended with ") {
				t.Errorf("%q: failed is %v:\n%s", line, failed, answer)
			}
			tried++
		}
	}
	if tried != len(answers) {
		t.Errorf("%d commands are shown, want %d", tried, len(answers))
	}
}

// answers are parts of what the commands that the demo shows print, in their order.
var answers = [][]string{
	{"prod-shop", "shop-server", "shop-database-0", "Running"},
	{`"ready":true`, `"status":"RUNNING"`},
	{"RUNNING", sampleUpgrade}, // deployments get
	{"RUNNING"},                // scale
	{"does-not-exist", "ended with "},
	{"RUNNING"}, // apply, mended
	{"DELETED"}, // delete
}

func lineWith(t *testing.T, lines []string, part string) int {
	t.Helper()
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, part) })
	if at < 0 {
		t.Fatalf("no line with %q in:\n%s", part, strings.Join(lines, "\n"))
	}
	return at
}

// shell runs a command in the checkout's folder and returns what it prints.
func shell(t *testing.T, command string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-c", command)
	run.Dir = "../.."
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	return string(out)
}

// stopDemo presses Ctrl-C and checks that nothing is left running.
func stopDemo(t *testing.T, demo *exec.Cmd, dir string) {
	t.Helper()
	if err := demo.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := demo.Wait(); err != nil {
		t.Errorf("after Ctrl-C the demo ended with %v", err)
	}
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		// A process that has ended meanwhile is none that was left.
		if line, err := os.ReadFile(command); err == nil && strings.Contains(string(line), dir) {
			t.Errorf("still running: %s", strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
}
