// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// NewCommand returns the program styrmin-server.
func NewCommand(version string) *cobra.Command {
	options := Options{Version: version}
	command := &cobra.Command{
		Use:   "styrmin-server",
		Short: "Keeps what the agents of clusters report and answers GraphQL",
		Long: `styrmin-server keeps what the agents of clusters report, judges it, and answers
people and programs at /graphql. It never connects to a cluster.

Every flag can be given as an environment variable, too: --report-timeout as
STYRMIN_REPORT_TIMEOUT. A flag wins over its variable.`,
		Version: version,
		Args:    cobra.NoArgs,
		// The error names what is wrong; the flags are in --help.
		SilenceUsage: true,
	}
	options.AddFlags(command.Flags())
	command.RunE = func(command *cobra.Command, _ []string) error { return run(command, &options) }
	return command
}

func run(command *cobra.Command, options *Options) error {
	if err := applyEnvironment(command.Flags(), os.LookupEnv); err != nil {
		return err
	}
	if err := options.Validate(); err != nil {
		return err
	}
	log, err := newLogger()
	if err != nil {
		return err
	}
	ctrllog.SetLogger(log) // For the watcher of the certificate.
	program, err := New(command.Context(), *options, log, command.ErrOrStderr())
	if err != nil {
		return err
	}
	return program.Run(command.Context())
}

func newLogger() (logr.Logger, error) {
	config := zap.NewProductionConfig()
	config.EncoderConfig.EncodeTime = zapcore.ISO8601TimeEncoder
	config.DisableCaller = true
	config.DisableStacktrace = true
	logger, err := config.Build()
	if err != nil {
		return logr.Logger{}, fmt.Errorf("making the logger: %w", err)
	}
	return zapr.NewLogger(logger), nil
}
