// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

func newScale(a *app) *cobra.Command {
	options := &changing{}
	command := &cobra.Command{
		Use:   "scale NAME COMPONENT=REPLICAS…",
		Short: "Change how many replicas of components should run",
		Example: `  styrminctl deployments scale shop server=5
  styrminctl deployments scale shop server=5 database=2 --wait`,
		Args:              countArguments,
		ValidArgsFunction: a.completeComponents("="),
		RunE: func(command *cobra.Command, args []string) error {
			replicas, err := parseReplicas(args[1:])
			if err != nil {
				return &usageError{err}
			}
			return a.change(command.Context(), args[0], "scaling", options, func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error) {
				return client.Deployments.Scale(ctx, id, replicas)
			})
		},
	}
	options.addFlags(a, command)
	return command
}

// parseReplicas reads COMPONENT=REPLICAS.
func parseReplicas(args []string) (map[string]int, error) {
	replicas := map[string]int{}
	for _, arg := range args {
		component, text, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(text)
		if component == "" || err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not COMPONENT=REPLICAS, as server=3", arg)
		}
		if _, twice := replicas[component]; twice {
			return nil, fmt.Errorf("component %s is named twice", component)
		}
		replicas[component] = n
	}
	return replicas, nil
}

func newUpgrade(a *app) *cobra.Command {
	options := &changing{}
	command := &cobra.Command{
		Use:   "upgrade NAME VERSION",
		Short: "Change the version of the application and its chart",
		Long: `Change the version of the application and its chart. The hooks that the spec has
for upgrades run before and after.`,
		Example:           `  styrminctl deployments upgrade shop 2.5.0 --wait`,
		Args:              countArguments,
		ValidArgsFunction: a.completeDeployment,
		RunE: func(command *cobra.Command, args []string) error {
			return a.change(command.Context(), args[0], "upgrading", options, func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error) {
				return client.Deployments.UpdateVersion(ctx, id, args[1])
			})
		},
	}
	options.addFlags(a, command)
	return command
}

func newStart(a *app) *cobra.Command {
	options := &changing{}
	command := &cobra.Command{
		Use:               "start NAME COMPONENT…",
		Short:             "Start components that were stopped",
		Example:           `  styrminctl deployments start shop server --wait`,
		Args:              countArguments,
		ValidArgsFunction: a.completeComponents(""),
		RunE: func(command *cobra.Command, args []string) error {
			return a.change(command.Context(), args[0], "starting", options, func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error) {
				return client.Deployments.StartComponents(ctx, id, args[1:])
			})
		},
	}
	options.addFlags(a, command)
	return command
}

func newStop(a *app) *cobra.Command {
	options := &changing{}
	command := &cobra.Command{
		Use:   "stop NAME COMPONENT…",
		Short: "Stop components until they are started again",
		Long: `Stop components: no pod of them runs until they are started again, with the
replicas that they had.`,
		Example:           `  styrminctl deployments stop shop server --wait`,
		Args:              countArguments,
		ValidArgsFunction: a.completeComponents(""),
		RunE: func(command *cobra.Command, args []string) error {
			return a.change(command.Context(), args[0], "stopping", options, func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error) {
				return client.Deployments.StopComponents(ctx, id, args[1:])
			})
		},
	}
	options.addFlags(a, command)
	return command
}

func newRunJob(a *app) *cobra.Command {
	options := &changing{}
	command := &cobra.Command{
		Use:               "run-job NAME JOB",
		Short:             "Run a job of the deployment's spec once",
		Example:           `  styrminctl deployments run-job shop migrate --wait`,
		Args:              countArguments,
		ValidArgsFunction: a.completeJob,
		RunE: func(command *cobra.Command, args []string) error {
			return a.change(command.Context(), args[0], "running job "+args[1], options, func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error) {
				return client.Deployments.RunJob(ctx, id, args[1])
			})
		},
	}
	options.addFlags(a, command)
	return command
}

func newDelete(a *app) *cobra.Command {
	options := &changing{}
	yes := false
	command := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a deployment and all that runs for it",
		Long: `Delete a deployment and all that runs for it, its namespace included. On a
terminal it asks first; elsewhere it needs --yes.`,
		Example: `  styrminctl deployments delete shop
  styrminctl deployments delete shop --environment test --yes --wait`,
		Args:              countArguments,
		ValidArgsFunction: a.completeDeployment,
		RunE: func(command *cobra.Command, args []string) error {
			return a.change(command.Context(), args[0], "deleting", options, func(ctx context.Context, client *sdk.Client, id string) (*sdk.Task, error) {
				if !yes {
					if err := a.confirm(ctx, client, id); err != nil {
						return nil, err
					}
				}
				return client.Deployments.Delete(ctx, id)
			})
		},
	}
	options.addFlags(a, command)
	command.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return command
}

// confirm asks a person whether the deployment is to be deleted. Where there is
// none to ask, that is an error.
func (a *app) confirm(ctx context.Context, client *sdk.Client, id string) error {
	if !isTerminal(a.In) {
		return &usageError{fmt.Errorf("deleting cannot be undone, and nobody can be asked here: give --yes")}
	}
	d, err := client.Deployments.Get(ctx, id)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(a.Err, "Delete deployment %s in environment %s, with its namespace and data? [y/N] ", d.Name, orNone(d.Environment))
	answer, _ := bufio.NewReader(interruptible(ctx, a.In)).ReadString('\n')
	if ctx.Err() != nil { // Whatever was answered at the same time.
		a.say("")
		return ctx.Err()
	}
	// No answer is no.
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errAborted
	}
	return nil
}
