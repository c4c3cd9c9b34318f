// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

func newDeployments(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:     "deployments",
		Aliases: []string{"deployment", "deploy", "sd"},
		Short:   "Read and change deployments",
		Args:    cobra.NoArgs,
		RunE:    showHelp,
	}
	command.AddCommand(newList(a), newGet(a), newApply(a), newDelete(a), newScale(a), newUpgrade(a),
		newStart(a), newStop(a), newRunJob(a), newPods(a))
	return command
}

func newList(a *app) *cobra.Command {
	var where place
	var status string
	var format output
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List deployments",
		Long: `List deployments: one line each, without those that were deleted unless --status
deleted asks for them. READY counts the replicas of all components, SINCE is how
long the deployment has had its status.`,
		Example: `  styrminctl deployments list
  styrminctl deployments list --environment prod --status failed
  styrminctl deployments list -o json`,
		Args: countArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			listed, err := client.Clusters.List(command.Context())
			if err != nil {
				return err
			}
			filter, err := where.filter(listed)
			if err != nil {
				return err
			}
			if filter.Status, err = parseStatus(status); err != nil {
				return err
			}
			deployments, err := client.Deployments.List(command.Context(), filter)
			if err != nil {
				return err
			}
			sortDeployments(deployments, listed)
			if !format.isForScripts() {
				a.setClock(command.Context(), client)
			}
			return a.printDeployments(format, deployments, listed)
		},
	}
	where.addFlags(a, command)
	command.Flags().StringVar(&status, "status", "", "only deployments of this status, as running or failed")
	_ = command.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusWords(), cobra.ShellCompDirectiveNoFileComp))
	addOutput(command, &format, outputWide, outputJSON, outputYAML, outputName)
	return command
}

// statuses are all that a deployment can have.
var statuses = []sdk.DeploymentStatus{
	sdk.StatusPending, sdk.StatusDeploying, sdk.StatusRunning, sdk.StatusFailed, sdk.StatusDeleting, sdk.StatusDeleted,
}

func sortDeployments(deployments []sdk.Deployment, known clusters) {
	slices.SortStableFunc(deployments, func(x, y sdk.Deployment) int {
		return cmp.Or(cmp.Compare(x.Environment, y.Environment), cmp.Compare(x.Name, y.Name),
			cmp.Compare(known.name(x.ClusterID), known.name(y.ClusterID)), cmp.Compare(x.ID, y.ID))
	})
}

// maxMessage is how much of a message a table shows, in characters; -o wide
// shows all of it.
const maxMessage = 60

func (a *app) printDeployments(format output, deployments []sdk.Deployment, known clusters) error {
	if done, err := printPlainly(a, format, "deployment", deployments, func(d *sdk.Deployment) string { return d.Name }); done {
		return err
	}
	headings := []string{"NAME", "ENVIRONMENT", "CLUSTER", "STATUS", "VERSION", "READY", "SINCE"}
	if format == outputWide {
		headings = append(headings, "LAST REPORT", "ID")
	}
	rows := [][]string{append(headings, "MESSAGE")}
	for i := range deployments {
		d := &deployments[i]
		row := []string{
			d.Name, orNone(d.Environment), known.name(d.ClusterID), string(d.Status), orNone(d.Version), readyOf(d), a.age(d.StatusSince),
		}
		message := oneLine(d.StatusMessage)
		if format == outputWide {
			row = append(row, a.age(d.LastReportAt), d.ID)
		} else {
			message = cut(message, maxMessage)
		}
		rows = append(rows, append(row, message))
	}
	return table(a.Out, rows)
}

// readyOf counts the replicas of all components as ready/desired.
func readyOf(d *sdk.Deployment) string {
	if d.Observed == nil {
		return none
	}
	ready, desired := 0, 0
	for _, component := range d.Observed.Components {
		ready += component.Ready
		desired += component.Desired
	}
	return fmt.Sprintf("%d/%d", ready, desired)
}
