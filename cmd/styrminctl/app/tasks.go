// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

func newTasks(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:     "tasks",
		Aliases: []string{"task"},
		Short:   "Read tasks, and wait for them",
		Args:    cobra.NoArgs,
		RunE:    showHelp,
	}
	command.AddCommand(newTaskGet(a), newTaskWait(a))
	return command
}

func newTaskGet(a *app) *cobra.Command {
	var format output
	command := &cobra.Command{
		Use:               "get ID",
		Short:             "Show a task with its steps and all their attempts",
		Example:           `  styrminctl tasks get 01990d2c-6f3e-7b1a-9c55-0f4b7f0f6a11`,
		Args:              countArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			task, err := client.Tasks.Get(command.Context(), taskID(args[0]))
			if err != nil {
				return err
			}
			switch format {
			case outputName:
				a.print("task/%s", task.ID)
			case outputJSON, outputYAML:
				return a.encode(format, task)
			default:
				a.setClock(command.Context(), client)
				a.printTask(task, true)
			}
			return nil
		},
	}
	addOutput(command, &format, outputJSON, outputYAML, outputName)
	return command
}

// taskID reads an id as -o name prints it.
func taskID(text string) string { return strings.TrimPrefix(text, "task/") }

func newTaskWait(a *app) *cobra.Command {
	var options waiting
	var format output
	command := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until the change of a task has finished",
		Long: `Wait until the change of a task has finished: until its deployment is running, or
deleted after a deletion. The exit code tells how it ended, as for --wait.`,
		Example:           `  styrminctl tasks wait 01990d2c-6f3e-7b1a-9c55-0f4b7f0f6a11 --timeout 5m`,
		Args:              countArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			ctx := command.Context()
			client, err := a.connect()
			if err != nil {
				return err
			}
			task, err := client.Tasks.Get(ctx, taskID(args[0]))
			if err != nil {
				return err
			}
			deployment, err := client.Deployments.Get(ctx, task.DeploymentID)
			if err != nil {
				return err
			}
			waited, err := a.follow(ctx, client, task, deployment.Name, options.timeout)
			if err != nil {
				return err
			}
			return a.printWaited(format, deployment, waited)
		},
	}
	options.addTimeout(command)
	addOutput(command, &format, outputJSON, outputYAML)
	return command
}

// printWaited prints an outcome; one that is no success is an error, too.
func (a *app) printWaited(format output, deployment *sdk.Deployment, waited *sdk.Waited) error {
	if format.isForScripts() {
		if err := a.encode(format, waited); err != nil {
			return err
		}
	}
	return a.ended(&change{Deployment: deployment.Name, DeploymentID: deployment.ID}, waited, format)
}
