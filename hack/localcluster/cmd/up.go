// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/styrmin/styrmin/hack/localcluster/cluster"
)

func newUp() *cobra.Command {
	options := cluster.Options{}
	command := &cobra.Command{
		Use:   "up",
		Short: "Run a cluster until it is interrupted",
		Long: "Run a cluster until it is interrupted (SIGINT, SIGTERM). When all is up, one line on the standard output " +
			"says so: ready: KUBECONFIG=… charts=… kubectl=…\n\n" +
			cluster.HelmControllerVariable + " and " + cluster.SourceControllerVariable +
			" name real Flux controllers to run instead of the built-in one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if options.Nodes < 1 {
				return fmt.Errorf("--nodes: %d is too few, a cluster needs one", options.Nodes)
			}
			ctrl.SetLogger(logr.Discard()) // Clients of the cluster report by errors; a person reads this program's output.
			flux, err := cluster.FluxFromEnvironment()
			if err != nil {
				return err
			}
			options.Flux, options.Ready, options.Progress = flux, cmd.OutOrStdout(), cmd.ErrOrStderr()
			return cluster.Up(cmd.Context(), options)
		},
	}
	addDir(command, &options.Dir)
	command.Flags().IntVar(&options.Nodes, "nodes", 3, "number of simulated nodes")
	command.Flags().StringVar(&options.ChartsAddress, "charts-address", "127.0.0.1:8879",
		"address of the chart repository; port 0 picks a free one")
	command.Flags().StringVar(&options.Kubeconfig, "kubeconfig", "",
		"use the existing cluster of this kubeconfig and start no control plane")
	return command
}

func newClean() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "clean",
		Short: "Remove the state of a stopped cluster",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return cluster.Clean(dir) },
	}
	addDir(command, &dir)
	return command
}

func addDir(command *cobra.Command, dir *string) {
	command.Flags().StringVar(dir, "dir", "", "folder of the cluster's state and logs")
	if err := command.MarkFlagRequired("dir"); err != nil {
		panic(err) // The flag is defined one line above.
	}
}
