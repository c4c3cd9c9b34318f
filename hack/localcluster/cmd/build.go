// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/hack/localcluster/binaries"
)

func newBuild() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build the control plane into the per-user cache folder, where it is missing",
		Long: "Build the control plane from the Go module proxy into the per-user cache folder, or into " +
			binaries.CacheDirVariable + " where it is set. What KUBEBUILDER_ASSETS has is not built.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := binaries.Open(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = store.Ensure(cmd.Context(), binaries.All()...)
			return err
		},
	}
}

func newAssets() *cobra.Command {
	return &cobra.Command{
		Use:   "assets",
		Short: "Print a folder with etcd, kube-apiserver and kubectl, for KUBEBUILDER_ASSETS; build them where they are missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := binaries.Open(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			dir, err := store.EnsureAssets(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
			return err
		},
	}
}
