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
	for _, start := range []string{"first", "second"} {
		t.Run(start+" start", func(t *testing.T) {
			began := time.Now()
			demo, lines := startDemo(t, dir)
			t.Logf("everything was up after %.0fs", time.Since(began).Seconds())
			checkOrder(t, lines)
			tryCurl(t, lines)
			tryStyrminctl(t, lines)
			stopDemo(t, demo, dir)
		})
	}
}

// startDemo starts the demo and reads its output to the last line of explanation.
func startDemo(t *testing.T, dir string) (*exec.Cmd, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	demo := exec.CommandContext(ctx, "bin/demo", "--dir", dir, "--listen", "127.0.0.1:0", "--charts-address", "127.0.0.1:0")
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
		"Waiting for the sample", "RUNNING, 4 of 4 pods ready", "Server ", "Admin token ", "bin/kubectl --kubeconfig", "curl -s", "bin/styrminctl", lastLine,
	} {
		next := strings.Index(text[at:], part)
		if next < 0 {
			t.Fatalf("want %q after what came before it in:\n%s", part, text)
		}
		at += next
	}
}

// tryCurl runs the curl command that the demo shows.
func tryCurl(t *testing.T, lines []string) {
	t.Helper()
	first := lineWith(t, lines, "curl -s")
	answer := shell(t, strings.TrimSuffix(lines[first], `\`)+lines[first+1])
	if n := strings.Count(answer, `"ready":true`); n != 4 {
		t.Errorf("want four ready pods, got %s", answer)
	}
}

// tryStyrminctl reads the sample as the demo shows it; after its upgrade.
func tryStyrminctl(t *testing.T, lines []string) {
	t.Helper()
	answer := shell(t, lines[lineWith(t, lines, "export ")]+"\n"+lines[lineWith(t, lines, "bin/styrminctl deployments get")])
	for _, want := range []string{"RUNNING", sampleUpgrade} {
		if !strings.Contains(answer, want) {
			t.Errorf("want %s in:\n%s", want, answer)
		}
	}
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
