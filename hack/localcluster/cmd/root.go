// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of localcluster.
package cmd

import "github.com/spf13/cobra"

// New returns the root command.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "Run a real Kubernetes control plane with simulated kubelets on this machine",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newBuild(), newAssets(), newUp(), newClean(), newHelmReleaseController())
	return root
}
