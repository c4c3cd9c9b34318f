// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/styrmin/styrmin/test/system"
)

// killed is the variable that tells TestAKilledTestLeavesNoProgram that it is the
// one to be killed.
const killed = "STYRMIN_TEST_KILLED"

// TestAKilledTestLeavesNoProgram kills a second run of itself, which has started a
// program as startPod does, and waits for the program's end.
func TestAKilledTestLeavesNoProgram(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run a program in another root")
	}
	if os.Getenv(killed) != "" {
		waitToBeKilled(t)
	}
	second := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	second.Env = append(os.Environ(), killed+"=yes", "TMPDIR="+t.TempDir())
	stdout, err := second.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("want a process id, got %q", line)
	}
	program := fmt.Sprintf("/proc/%d", pid)
	eventually(t, "the program is nobody's", func(context.Context) error {
		status, err := os.ReadFile(program + "/status")
		if err == nil && !strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", nobody)) {
			err = errors.New("it is another user's still")
		}
		return err
	})
	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = second.Wait() // It was killed.
	eventually(t, "the program has ended", func(context.Context) error {
		_, err := os.Stat(program)
		if err == nil {
			return errors.New("it is there still")
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
}

// waitToBeKilled runs a program of this machine, in its own root, and prints its
// process id.
func waitToBeKilled(t *testing.T) {
	t.Helper()
	p := &pod{
		keeper: exec.CommandContext(t.Context(), "sh", "-ec", enterImage, "enter", "sleep", "infinity"),
		output: &system.Output{}, done: make(chan error, 1),
	}
	p.keeper.Stdout, p.keeper.Stderr = p.output, p.output
	p.keeper.Env = append(os.Environ(), "ROOT=/", "MOUNTS=", "VARIABLES=PATH="+os.Getenv("PATH"), fmt.Sprintf("NOBODY=%d", nobody))
	if err := p.start(); err != nil {
		t.Fatalf("%v\n%s", err, p.output)
	}
	fmt.Println(p.program.Pid)
	t.Fatalf("the program ended first: %v\n%s", <-p.done, p.output)
}
