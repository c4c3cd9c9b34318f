// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/hack/localcluster/cluster"
	"github.com/styrmin/styrmin/hack/localcluster/helmcontroller"
)

// newHelmReleaseController is the child process of up that reconciles HelmReleases.
func newHelmReleaseController() *cobra.Command {
	options := helmcontroller.Options{}
	command := &cobra.Command{
		Use:    cluster.HelmReleaseControllerCommand,
		Short:  "Reconcile HelmReleases with the Helm SDK (started by up)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Log = cmd.ErrOrStderr()
			return helmcontroller.Run(cmd.Context(), options)
		},
	}
	command.Flags().StringVar(&options.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	command.Flags().StringVar(&options.HealthAddress, "health-address", "0", "address of /healthz and /readyz; 0 for none")
	command.Flags().StringVar(&options.ArtifactsDir, "artifacts-dir", "", "folder that keeps fetched charts")
	return command
}
