// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/styrmin/styrmin/sdk"
)

// place narrows down which deployments are meant.
type place struct {
	environment, cluster string
}

func (p *place) addFlags(a *app, command *cobra.Command) {
	command.Flags().StringVarP(&p.environment, "environment", "e", "", "environment of the deployment")
	command.Flags().StringVar(&p.cluster, "cluster", "", "cluster of the deployment, by name or id")
	// They fail only for flags that do not exist.
	_ = command.RegisterFlagCompletionFunc("environment", a.completeEnvironments)
	_ = command.RegisterFlagCompletionFunc("cluster", a.completeClusters)
}

// clusters finds clusters by their ids and names.
type clusters []sdk.Cluster

func (c clusters) name(id string) string {
	for _, cluster := range c {
		if cluster.ID == id {
			return cluster.Name
		}
	}
	return id
}

// find returns the cluster of that name or id.
func (c clusters) find(name string) (*sdk.Cluster, error) {
	name = strings.TrimPrefix(name, "cluster/")
	for i := range c {
		if c[i].Name == name || c[i].ID == name {
			return &c[i], nil
		}
	}
	return nil, &notFoundError{fmt.Sprintf("there is no cluster %q: see styrminctl clusters list", name)}
}

// notFoundError is something that the command names and the server does not have.
type notFoundError struct{ message string }

func (e *notFoundError) Error() string { return e.message }
func (e *notFoundError) Unwrap() error { return sdk.ErrNotFound }

// filter is the place as the server understands it, for one of the clusters.
func (p *place) filter(known clusters) (sdk.DeploymentFilter, error) {
	filter := sdk.DeploymentFilter{Environment: p.environment}
	if p.cluster != "" {
		cluster, err := known.find(p.cluster)
		if err != nil {
			return filter, err
		}
		filter.ClusterID = cluster.ID
	}
	return filter, nil
}

// deployment finds the deployment that a person means, by its name or id, in that
// place alone. A name that several have is an error that lists them.
func (a *app) deployment(ctx context.Context, client *sdk.Client, name string, where place) (*sdk.Deployment, clusters, error) {
	name = strings.TrimPrefix(name, "deployment/")
	listed, err := client.Clusters.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := clusters(listed)
	filter, err := where.filter(known)
	if err != nil {
		return nil, nil, err
	}
	filter.Name = name
	found, err := client.Deployments.List(ctx, filter)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(found) == 1:
		return &found[0], known, nil
	case len(found) > 1:
		return nil, nil, &usageError{ambiguous(name, found, known)}
	}
	byID, err := client.Deployments.Get(ctx, name)
	// The server looks for an id everywhere.
	if errors.Is(err, sdk.ErrNotFound) || err == nil && !isIn(byID, filter) {
		return nil, nil, &notFoundError{fmt.Sprintf("there is no deployment %q%s: see styrminctl deployments list", name, where)}
	}
	return byID, known, err
}

// isIn tells whether the deployment is in the place that the filter names.
func isIn(deployment *sdk.Deployment, filter sdk.DeploymentFilter) bool {
	return (filter.Environment == "" || filter.Environment == deployment.Environment) &&
		(filter.ClusterID == "" || filter.ClusterID == deployment.ClusterID)
}

// String says where, for a message.
func (p place) String() string {
	var text string
	if p.environment != "" {
		text += " in environment " + p.environment
	}
	if p.cluster != "" {
		text += " in cluster " + p.cluster
	}
	return text
}

func ambiguous(name string, found []sdk.Deployment, known clusters) error {
	rows := append(make([][]string, 0, 1+len(found)), []string{"ID", "ENVIRONMENT", "CLUSTER"})
	for _, deployment := range found {
		rows = append(rows, []string{deployment.ID, orNone(deployment.Environment), known.name(deployment.ClusterID)})
	}
	var list strings.Builder
	if err := table(&list, rows); err != nil {
		return err
	}
	return fmt.Errorf("%d deployments are named %q: say which one with --environment, --cluster or its id\n%s",
		len(found), name, strings.TrimSuffix(list.String(), "\n"))
}
