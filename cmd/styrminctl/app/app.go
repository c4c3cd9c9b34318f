// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the program styrminctl: its commands, its configuration and
// what it prints. Tests run it in their own process.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// Environment is what the program has from outside.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	// LookupEnv finds environment variables.
	LookupEnv func(string) (string, bool)
	// Version is the program's own.
	Version string
}

// lookInterval is the time between two looks of --wait: people watch it.
const lookInterval = 2 * time.Second

// app is one run of the program.
type app struct {
	Environment
	config   config
	interval time.Duration
	// clock is this machine's.
	clock func() time.Time
	// began tells that the command line was understood.
	began bool
	// lost is why a result could not be printed, if one could not.
	lost error

	client *sdk.Client
	// offset is what the server's clock is ahead of this one.
	offset time.Duration
}

// Run runs the program and returns its exit code, one of the Exit… constants.
// The end of ctx interrupts it.
func Run(ctx context.Context, args []string, environment Environment) int {
	return run(ctx, args, &app{Environment: environment, interval: lookInterval, clock: time.Now})
}

func run(ctx context.Context, args []string, a *app) int {
	root := newRoot(a) //nolint:contextcheck // Its commands have the context of ExecuteContext.
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	err := root.ExecuteContext(ctx)
	if err != nil && !a.began {
		err = &usageError{err}
	}
	return a.end(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "styrminctl",
		Short: "Reads and changes what a Styrmin server runs",
		Long: `styrminctl reads and changes what a Styrmin server runs.

It finds the server by --server-address, STYRMIN_SERVER_ADDRESS or serverAddress in
the file ~/.config/styrmin, and its token in the same way: --token-file,
STYRMIN_TOKEN, or token there. Every flag of this page can be given as an
environment variable: --ca-file as STYRMIN_CA_FILE.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          showHelp,
	}
	a.config.addFlags(root.PersistentFlags())
	root.PersistentPreRunE = func(command *cobra.Command, args []string) error {
		a.began = true
		return checkGiven(command, args)
	}
	root.AddCommand(newDeployments(a), newTasks(a), newClusters(a), newVersion(a))
	return root
}

// showHelp is what a command that only groups others does. It knows no
// arguments, so that a mistyped command is an error.
func showHelp(command *cobra.Command, _ []string) error { return command.Help() }

// connect makes the client of the configured server.
func (a *app) connect() (*sdk.Client, error) {
	if a.client != nil {
		return a.client, nil
	}
	settings, err := a.config.settings(a.LookupEnv, a.warn)
	if err != nil {
		return nil, &usageError{err}
	}
	if a.client, err = settings.client(); err != nil {
		return nil, &usageError{err}
	}
	return a.client, nil
}

// warn tells what is worth knowing and no error.
func (a *app) warn(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Err, "Warning: "+format+"\n", args...)
}

// say tells something that is no result.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.Err, format+"\n", args...)
}

// print prints a result. Where that fails, the program does, at its end.
func (a *app) print(format string, args ...any) {
	if _, err := fmt.Fprintf(a.Out, format+"\n", args...); err != nil {
		a.lost = err
	}
}

// eyeTimeout is how long the program waits for what is only for the eye.
const eyeTimeout = 3 * time.Second

// setClock finds out the server's clock, by which all its times are; where that
// fails, this one serves.
func (a *app) setClock(ctx context.Context, client *sdk.Client) {
	ctx, cancel := context.WithTimeout(ctx, eyeTimeout)
	defer cancel()
	asked := a.clock()
	if info, err := client.Server(ctx); err == nil {
		a.offset = info.Time.Sub(asked.Add(a.clock().Sub(asked) / 2))
	}
}

// now is the time by the server's clock.
func (a *app) now() time.Time { return a.clock().Add(a.offset) }

var errAborted = errors.New("nothing was changed")
