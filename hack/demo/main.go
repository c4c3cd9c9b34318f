// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo runs the whole product on a real local control plane, applies a
// sample StyrminDeployment and says what to try. It ends on Ctrl-C and goes on
// where it was at its next start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/styrmin/styrmin/test/system"
)

// runningTimeout is how long the sample may take to run.
const runningTimeout = 3 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Println("Stopped before everything was up.")
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	dir := fs.String("dir", ".demo", "Folder that holds the demo's state.")
	listen := fs.String("listen", "127.0.0.1:8080", "Address of the server.")
	charts := fs.String("charts-address", "127.0.0.1:8879", "Address of the local chart repository.")
	kubeconfig := fs.String("kubeconfig", "", "An existing cluster to use instead of a local one.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	state, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	s, err := system.Start(ctx, system.Options{
		Dir:          state,
		Localcluster: "bin/localcluster",
		Server:       "bin/styrmin-server",
		Manager:      "bin/manager",
		CRDs:         "config/crd/bases",
		Kubeconfig:   *kubeconfig,
		Listen:       *listen,
		Charts:       *charts,
		Progress:     os.Stdout,
	})
	if err != nil {
		return err
	}
	defer func() {
		fmt.Println("\nStopping the manager, the server and the control plane")
		err = errors.Join(err, s.Stop())
	}()
	if err := s.ApplySample(ctx, "config/samples"); err != nil {
		return err
	}
	if err := waitUntilRunning(ctx, s); err != nil {
		return err
	}
	tellWhatToTry(s, *dir)
	return s.Wait(ctx)
}

// waitUntilRunning tells each change that the server's answers show, until the
// sample runs.
func waitUntilRunning(ctx context.Context, s *system.System) error {
	fmt.Println("Waiting for the sample StyrminDeployment styrmin/prod-shop to run, as the server sees it:")
	ctx, cancel := context.WithTimeoutCause(ctx, runningTimeout,
		fmt.Errorf("the sample does not run after %s; see the logs beside the demo's state", runningTimeout))
	defer cancel()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	// What is stored may be an earlier demo's: a report has to come first.
	since, err := s.Clock(ctx)
	if err != nil {
		return err
	}
	start, last := time.Now(), ""
	for {
		line, running, err := observe(ctx, s, since)
		if err != nil {
			return err
		}
		if line != last {
			fmt.Printf("  %3.0fs  %s\n", time.Since(start).Seconds(), line)
			last = line
		}
		if running {
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
// people, and whether it runs.
func observe(ctx context.Context, s *system.System, since time.Time) (line string, running bool, err error) {
	reported, err := s.LastReport(ctx)
	if err != nil || !reported.After(since) {
		return "waiting for the agent's report", false, err
	}
	deployment, err := s.Deployment(ctx, "prod-shop")
	if err != nil || deployment == nil {
		return "not reported yet", false, err
	}
	pods, err := s.Pods(ctx, "prod-shop")
	if err != nil {
		return "", false, err
	}
	ready := 0
	for _, pod := range pods {
		if pod.Ready {
			ready++
		}
	}
	line = fmt.Sprintf("%s, %d of %d pods ready", deployment.Status, ready, len(pods))
	if deployment.Observed != nil && deployment.Status != "RUNNING" {
		line += ", phase " + deployment.Observed.Phase
	}
	if deployment.StatusMessage != "" {
		line += ": " + deployment.StatusMessage
	}
	return line, deployment.Status == "RUNNING" && ready > 0 && ready == len(pods), nil
}

func tellWhatToTry(s *system.System, dir string) {
	kubectl := fmt.Sprintf("bin/kubectl --kubeconfig %s", s.Kubeconfig)
	fmt.Printf(`
Server       %[1]s/graphql
Admin token  %[2]s

Try, in another terminal in this folder:

  %[3]s get sd -A
  %[3]s get pods -A
  %[3]s -n styrmin patch sd prod-shop --type json -p '[{"op": "replace", "path": "/spec/components/0/replicas", "value": 5}]'
  # Break its image, see what the server says, and mend it:
  %[3]s -n styrmin patch sd prod-shop --type merge -p '{"spec": {"helmRelease": {"values": {"server": {"image": "registry.example/does-not-exist:1"}}}}}'
  %[3]s -n styrmin patch sd prod-shop --type merge -p '{"spec": {"helmRelease": {"values": {"server": {"image": "registry.example/shop-server:2.4.2"}}}}}'
  %[3]s -n styrmin delete sd prod-shop

  curl -s %[1]s/graphql -H "Authorization: Bearer $(cat %[2]s)" -H 'Content-Type: application/json' \
    -d '{"query": "{ podStatuses { namespace name status ready containers { reason message } } deployments { name status statusMessage } }"}'

Logs are in %[4]s. Ctrl-C ends everything; the next make demo goes on from there, make demo-clean forgets it.
`, s.ServerURL, relative(s.AdminTokenFile), kubectl, filepath.Join(dir, "logs"))
}

// relative shortens a path below the working folder.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}
