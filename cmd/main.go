// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager is Styrmin's agent: one controller-runtime manager that runs
// the worker, the operator and the reporter of a cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker.
var version = "dev"

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// run reads the configuration and runs the agent until ctx ends.
func run(ctx context.Context, args []string) error {
	opts, err := parseOptions(args, os.Stdout)
	if err != nil || opts.showVersion {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster to manage: %w (set --kubeconfig outside a cluster)", err)
	}
	return newAgent(opts, config).run(ctx)
}
