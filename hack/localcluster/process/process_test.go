// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/hack/localcluster/process"
)

func start(t *testing.T, script string) *process.Process {
	t.Helper()
	p, err := process.Start(process.Spec{
		Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"GREETING=hello"},
		LogFile: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop(0) })
	return p
}

// awaitLog waits until the process has written the text.
func awaitLog(t *testing.T, p *process.Process, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if content, err := os.ReadFile(p.LogFile); err == nil && strings.Contains(string(content), want) {
			return
		}
	}
	t.Fatalf("%q never appeared in the log", want)
}

func TestAnEndedProcessTellsHowItEndedAndWhereItsLogIs(t *testing.T) {
	p := start(t, `echo "$GREETING" >&2; exit 3`)
	<-p.Done()
	if want := "script ended unexpectedly (exit status 3), see its log: " + p.LogFile; p.Ended().Error() != want {
		t.Errorf("error = %q, want %q", p.Ended(), want)
	}
	awaitLog(t, p, "hello")
}

func TestStopLetsAProcessEndByItself(t *testing.T) {
	p := start(t, `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
	awaitLog(t, p, "ready")
	if err := p.Stop(10 * time.Second); err != nil {
		t.Errorf("Stop: %v", err)
	}
	awaitLog(t, p, "bye")
}

func TestStopKillsAProcessThatDoesNotEnd(t *testing.T) {
	p := start(t, `trap '' TERM; echo ready; while :; do sleep 0.05; done`)
	awaitLog(t, p, "ready")
	if err := p.Stop(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("Stop = %v, want an error that says that it was killed", err)
	}
	<-p.Done()
}

func TestAProgramThatDoesNotExistIsAnError(t *testing.T) {
	_, err := process.Start(process.Spec{Name: "nothing", Path: "/does/not/exist", LogFile: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "start nothing") {
		t.Errorf("error = %v, want one that names the process", err)
	}
}
