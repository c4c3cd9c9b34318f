// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/styrmin/styrmin/sdk"
	"github.com/styrmin/styrmin/sdk/sdktest"
)

// TestCtrlCEndsTheWaitAndNotTheChange runs the program itself, as a shell does.
func TestCtrlCEndsTheWaitAndNotTheChange(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "styrminctl")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/styrmin/styrmin/cmd/styrminctl").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, output)
	}
	server := sdktest.Start(t)
	agent := server.NewCluster(t, "production")
	client, err := sdk.New(server.URL, sdk.WithToken(server.AdminToken))
	if err != nil {
		t.Fatal(err)
	}
	task, err := client.Deployments.Create(t.Context(), sdk.NewDeployment{
		Name: "shop", ClusterID: agent.ClusterID, Environment: "prod", Spec: map[string]any{"helmRelease": map[string]any{
			"releaseName": "shop", "chart": map[string]any{"repository": "oci://charts.example.com", "name": "shop", "version": "1"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	waiting := exec.CommandContext(t.Context(), program, "tasks", "wait", task.ID)
	waiting.Env = []string{"STYRMIN_SERVER_ADDRESS=" + server.URL, "STYRMIN_TOKEN=" + server.AdminToken, "HOME=" + t.TempDir()}
	said, err := waiting.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); line != "deployment/shop: PENDING\n" {
		t.Fatalf("it begins with %q, %v", line, err)
	}
	if err := waiting.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	var ended *exec.ExitError
	if err := waiting.Wait(); !errors.As(err, &ended) || ended.ExitCode() != ExitInterrupted {
		t.Errorf("it ended with %v, want exit status %d", err, ExitInterrupted)
	}
	want := "Error: interrupted: the change goes on\nWait for it again with: styrminctl tasks wait " + task.ID + "\n"
	if !strings.HasSuffix(string(rest), want) {
		t.Errorf("it ends with %q, want %q", rest, want)
	}
	if task, err := client.Tasks.Get(t.Context(), task.ID); err != nil || task.Result != sdk.ResultRunning {
		t.Errorf("the change does not go on: %+v, %v", task, err)
	}
}
