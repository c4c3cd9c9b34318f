// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/styrmin/styrmin/test/system"
)

// The exit codes of docs/cli.md.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitFailed      = 3
	exitSuperseded  = 4
	exitTimeout     = 5
	exitUnavailable = 6
	exitNotFound    = 7
	exitInterrupted = 130
)

// longestRun is how long a run of styrminctl may take, waits included.
const longestRun = 5 * time.Minute

// styrminctl builds the program beside the others, once, and returns its path.
var styrminctl = sync.OnceValues(func() (string, error) {
	program := filepath.Join(filepath.Dir(managerProgram), "styrminctl")
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", program, "../../cmd/styrminctl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building styrminctl: %w\n%s", err, out)
	}
	return program, nil
})

// command is a run of styrminctl.
type command struct {
	t        *testing.T
	process  *exec.Cmd
	out, err system.Output
	done     chan struct{}
	// code and ended are known once done is closed.
	code  int
	ended time.Time
}

// startCtl runs styrminctl as an admin does, in the background.
func startCtl(t *testing.T, args ...string) *command {
	t.Helper()
	program, err := styrminctl()
	if err != nil {
		t.Fatal(err)
	}
	c := &command{t: t, process: exec.CommandContext(t.Context(), program, args...), done: make(chan struct{})}
	c.process.Env = []string{"STYRMIN_SERVER_ADDRESS=" + sys.ServerURL, "STYRMIN_TOKEN_FILE=" + sys.AdminTokenFile, "HOME=" + t.TempDir()}
	c.process.Stdout, c.process.Stderr = &c.out, &c.err
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		var exit *exec.ExitError
		if err := c.process.Wait(); errors.As(err, &exit) {
			c.code = exit.ExitCode()
		}
		c.ended = time.Now()
	}()
	t.Cleanup(func() { <-c.done })
	return c
}

// runCtl runs styrminctl to its end, which must have that exit code.
func runCtl(t *testing.T, wantCode int, args ...string) *command {
	t.Helper()
	c := startCtl(t, args...)
	c.wait(wantCode)
	return c
}

// wait waits for the end, which must have that exit code.
func (c *command) wait(wantCode int) {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(longestRun):
		c.t.Fatalf("%s goes on:\n%s%s", c, c.out.String(), c.err.String())
	}
	if c.code != wantCode {
		c.t.Fatalf("%s ended with %d, want %d:\n%s%s", c, c.code, wantCode, c.out.String(), c.err.String())
	}
}

func (c *command) String() string { return "styrminctl " + strings.Join(c.process.Args[1:], " ") }

// hasEnded tells whether it has.
func (c *command) hasEnded() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// until waits until the program has told a text on its standard error.
func (c *command) until(text string) {
	c.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(longestRun)
	for !strings.Contains(c.err.String(), text) {
		select {
		case <-c.done:
			c.t.Fatalf("%s never told %q:\n%s", c, text, c.err.String())
		case <-deadline:
			c.t.Fatalf("%s does not tell %q:\n%s", c, text, c.err.String())
		case <-ticker.C:
		}
	}
}

// interrupt is Ctrl-C.
func (c *command) interrupt() {
	c.t.Helper()
	if err := c.process.Process.Signal(syscall.SIGINT); err != nil {
		c.t.Fatal(err)
	}
}
