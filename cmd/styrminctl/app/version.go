// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// versions are those of the two programs.
type versions struct {
	Client string          `json:"client"`
	Server *sdk.ServerInfo `json:"server,omitempty"`
}

func newVersion(a *app) *cobra.Command {
	var clientOnly bool
	var format output
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of styrminctl and of the server",
		Example: `  styrminctl version --client`,
		Args:    countArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			found := versions{Client: a.Version}
			var err error
			if !clientOnly {
				found.Server, err = a.serverVersion(command)
			}
			if format.isForScripts() {
				return errors.Join(err, a.encode(format, found))
			}
			a.print("Client: %s", found.Client)
			if found.Server != nil {
				a.print("Server: %s", found.Server.Version)
			}
			return err
		},
	}
	command.Flags().BoolVar(&clientOnly, "client", false, "do not ask the server")
	addOutput(command, &format, outputJSON, outputYAML)
	return command
}

func (a *app) serverVersion(command *cobra.Command) (*sdk.ServerInfo, error) {
	client, err := a.connect()
	if err != nil {
		return nil, err
	}
	return client.Server(command.Context())
}
