// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/styrmin/styrmin/test/system"
)

const (
	sampleFile = "config/samples/shop.yaml"
	// sampleCharts is the chart repository that the sample names.
	sampleCharts = "http://127.0.0.1:8879"

	sampleName      = "shop"
	sampleNamespace = "prod-shop"
	sampleUpgrade   = "2.5.0"
)

// sampleImage is how the sample names an image.
var sampleImage = regexp.MustCompile(`\{image: "[^"]*"\}`)

// runningTimeout is how long the sample may take to show in the server's answers
// once its changes have finished.
const runningTimeout = 3 * time.Minute

// sample is the deployment that the demo shows.
type sample struct {
	system *system.System
	// file is the sample with the chart repository of this demo.
	file string
	// image replaces those of the sample, unless it is empty.
	image string
}

// setUp makes the sample where it is not, and waits until the server sees it run.
// One that an earlier demo left failed stays so.
func (d *sample) setUp(ctx context.Context) error {
	text, err := os.ReadFile(sampleFile)
	if err != nil {
		return err
	}
	adapted := strings.ReplaceAll(string(text), sampleCharts, d.system.ChartsURL)
	if d.image != "" {
		adapted = sampleImage.ReplaceAllLiteralString(adapted, fmt.Sprintf("{image: %q}", d.image))
	}
	//nolint:gosec // The folder is the person's own.
	if err := os.WriteFile(d.file, []byte(adapted), 0o600); err != nil {
		return err
	}
	// What is stored may be an earlier demo's: a report has to come first.
	since, err := d.system.Clock(ctx)
	if err != nil {
		return err
	}
	found, err := d.system.Deployment(ctx, sampleName)
	if err != nil {
		return err
	}
	if found == nil {
		if err := d.create(ctx); err != nil {
			return err
		}
	}
	return d.waitUntilSettled(ctx, since)
}

// create is what a person would do: apply, then upgrade. The sample's hooks stop
// and start a component around the upgrade.
func (d *sample) create(ctx context.Context) error {
	for _, args := range [][]string{
		{"deployments", "apply", "-f", d.file, "--wait"},
		{"deployments", "upgrade", sampleName, sampleUpgrade, "--wait"},
	} {
		fmt.Printf("\n$ styrminctl %s\n", strings.Join(args, " "))
		command := exec.CommandContext(ctx, "bin/styrminctl", args...) //nolint:gosec // The arguments are ours.
		command.Env = append(os.Environ(), "STYRMIN_SERVER_ADDRESS="+d.system.ServerURL)
		command.Args = append(command.Args, "--token-file", d.system.AdminTokenFile)
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		// It ends by the signal that ends the demo, and says that the change goes on.
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		if err := command.Run(); err != nil {
			return fmt.Errorf("styrminctl %s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// waitUntilSettled tells each change that the server's answers show, until the
// sample runs, or has failed.
func (d *sample) waitUntilSettled(ctx context.Context, since time.Time) error {
	fmt.Printf("\nWaiting for the sample deployment %s to run, as the server sees it:\n", sampleName)
	ctx, cancel := context.WithTimeoutCause(ctx, runningTimeout,
		fmt.Errorf("the sample does not run after %s; see the logs beside the demo's state", runningTimeout))
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	start, last := time.Now(), ""
	for {
		line, settled, err := d.observe(ctx, since)
		if err != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		if line != last {
			fmt.Printf("  %3.0fs  %s\n", time.Since(start).Seconds(), line)
			last = line
		}
		if settled {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// observe reads the sample from the server, as reported after since: a line for
// people, and whether it runs or has failed.
func (d *sample) observe(ctx context.Context, since time.Time) (line string, settled bool, err error) {
	reported, err := d.system.LastReport(ctx)
	if err != nil || !reported.After(since) {
		return "waiting for the agent's report", false, err
	}
	found, err := d.system.Deployment(ctx, sampleName)
	if err != nil || found == nil {
		return "not there yet", false, err
	}
	pods, err := d.system.Pods(ctx, sampleNamespace)
	if err != nil {
		return "", false, err
	}
	ready := 0
	for _, pod := range pods {
		if pod.Ready {
			ready++
		}
	}
	line = fmt.Sprintf("%s, %d of %d pods ready", found.Status, ready, len(pods))
	if found.StatusMessage != "" {
		line += ": " + found.StatusMessage
	}
	// A person may have stopped components of it, or broken it: that it stays.
	return line, (found.Status == "RUNNING" && ready == len(pods)) || found.Status == "FAILED", nil
}
