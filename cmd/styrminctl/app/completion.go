// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// completionTimeout bounds how long a shell waits for names.
const completionTimeout = 3 * time.Second

// complete asks the server for words. Where it does not answer there are none: a
// shell has no place for an error.
func (a *app) complete(command *cobra.Command, words func(ctx context.Context, client *sdk.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	client, err := a.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(command.Context(), completionTimeout)
	defer cancel()
	found, err := words(ctx, client)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeDeployment completes the name of a deployment, the first argument.
func (a *app) completeDeployment(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(command, func(ctx context.Context, client *sdk.Client) ([]string, error) {
		deployments, err := client.Deployments.List(ctx, sdk.DeploymentFilter{})
		names := make([]string, 0, len(deployments))
		for _, d := range deployments {
			names = append(names, cobra.CompletionWithDesc(d.Name, d.Environment+", "+string(d.Status)))
		}
		return names, err
	})
}

// completeComponents completes a deployment's name, then those of its
// components, each with the suffix.
func (a *app) completeComponents(suffix string) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.completeDeployment(command, args, word)
		}
		names, directive := a.completeFromSpec(command, args[0], func(s completedSpec) []named { return s.Components })
		for i := range names {
			names[i] += suffix
		}
		if suffix != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return names, directive
	}
}

// completeJob completes a deployment's name, then those of its jobs.
func (a *app) completeJob(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return a.completeDeployment(command, args, word)
	case 1:
		return a.completeFromSpec(command, args[0], func(s completedSpec) []named { return s.Jobs })
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

type named struct{ Name string }

type completedSpec struct{ Components, Jobs []named }

// completeFromSpec completes names that the spec of a deployment has.
func (a *app) completeFromSpec(command *cobra.Command, name string, list func(completedSpec) []named) ([]string, cobra.ShellCompDirective) {
	return a.complete(command, func(ctx context.Context, client *sdk.Client) ([]string, error) {
		found, _, err := a.deployment(ctx, client, name, place{})
		if err != nil {
			return nil, err
		}
		d, err := client.Deployments.Get(ctx, found.ID)
		if err != nil || d.Instance == nil {
			return nil, err
		}
		var spec completedSpec
		if err := json.Unmarshal(d.Instance.Spec, &spec); err != nil {
			return nil, err
		}
		var names []string
		for _, entry := range list(spec) {
			names = append(names, entry.Name)
		}
		return names, nil
	})
}

func (a *app) completeEnvironments(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(command, func(ctx context.Context, client *sdk.Client) ([]string, error) {
		deployments, err := client.Deployments.List(ctx, sdk.DeploymentFilter{})
		environments := make([]string, 0, len(deployments))
		for _, d := range deployments {
			environments = append(environments, d.Environment)
		}
		return environments, err
	})
}

func (a *app) completeClusters(command *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(command, func(ctx context.Context, client *sdk.Client) ([]string, error) {
		listed, err := client.Clusters.List(ctx)
		names := make([]string, 0, len(listed))
		for _, cluster := range listed {
			names = append(names, cluster.Name)
		}
		return names, err
	})
}

// completeCluster completes the name of a cluster, the only argument.
func (a *app) completeCluster(command *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeClusters(command, args, word)
}
