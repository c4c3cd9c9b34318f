// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

func newClusters(a *app) *cobra.Command {
	command := &cobra.Command{
		Use:     "clusters",
		Aliases: []string{"cluster"},
		Short:   "Read and register clusters",
		Args:    cobra.NoArgs,
		RunE:    showHelp,
	}
	command.AddCommand(newClusterList(a), newClusterCreate(a), newClusterRotate(a))
	return command
}

func newClusterList(a *app) *cobra.Command {
	var format output
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List clusters and when their agents last reported",
		Example: `  styrminctl clusters list`,
		Args:    countArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			clusters, err := client.Clusters.List(command.Context())
			if err != nil {
				return err
			}
			if !format.isForScripts() {
				a.setClock(command.Context(), client)
			}
			return a.printClusters(format, clusters)
		},
	}
	addOutput(command, &format, outputWide, outputJSON, outputYAML, outputName)
	return command
}

func (a *app) printClusters(format output, clusters []sdk.Cluster) error {
	if done, err := printPlainly(a, format, "cluster", clusters, func(c *sdk.Cluster) string { return c.Name }); done {
		return err
	}
	headings := []string{"NAME", "LAST REPORT", "DEPLOYMENTS", "PODS", "AGENT"}
	if format == outputWide {
		headings = append(headings, "ID", "UID")
	}
	rows := [][]string{headings}
	for i := range clusters {
		c := &clusters[i]
		report := "never"
		if !c.LastReportAt.IsZero() {
			report = a.age(c.LastReportAt) + " ago"
		}
		row := []string{c.Name, report, fmt.Sprint(c.Deployments), fmt.Sprint(c.Pods), orNone(c.AgentVersion)}
		if format == outputWide {
			row = append(row, c.ID, orNone(c.UID))
		}
		rows = append(rows, row)
	}
	return table(a.Out, rows)
}

func newClusterCreate(a *app) *cobra.Command {
	var format output
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Register a cluster and make a token for its agent",
		Long: `Register a cluster and make a token for its agent. The token is shown this once:
give it to the agent with --token-file.`,
		Example: `  styrminctl clusters create production
  styrminctl clusters create production -o json | jq -r .agentToken`,
		Args:              countArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			created, err := client.Clusters.Create(command.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printAgentToken(format, "created", created)
		},
	}
	addOutput(command, &format, outputJSON, outputYAML)
	return command
}

func newClusterRotate(a *app) *cobra.Command {
	var format output
	command := &cobra.Command{
		Use:               "rotate-token NAME",
		Short:             "Make a new token for a cluster's agent; the earlier ones stop working at once",
		Example:           `  styrminctl clusters rotate-token production`,
		Args:              countArguments,
		ValidArgsFunction: a.completeCluster,
		RunE: func(command *cobra.Command, args []string) error {
			client, err := a.connect()
			if err != nil {
				return err
			}
			listed, err := client.Clusters.List(command.Context())
			if err != nil {
				return err
			}
			cluster, err := clusters(listed).find(args[0])
			if err != nil {
				return err
			}
			rotated, err := client.Clusters.RotateToken(command.Context(), cluster.ID)
			if err != nil {
				return err
			}
			return a.printAgentToken(format, "has a new token", rotated)
		},
	}
	addOutput(command, &format, outputJSON, outputYAML)
	return command
}

func (a *app) printAgentToken(format output, what string, made *sdk.ClusterToken) error {
	if format.isForScripts() {
		return a.encode(format, made)
	}
	a.print("cluster/%s %s\n\nThe agent's token, shown this once:\n\n  %s", made.Cluster.Name, what, made.AgentToken)
	return nil
}
