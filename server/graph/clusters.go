// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"regexp"
	"strings"

	"github.com/styrmin/styrmin/server"
)

// maxNameLength bounds the names that people give to clusters and tokens.
const maxNameLength = 63

// clusterName is a DNS label, so that it fits into labels, files and URLs.
var clusterName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// CreateCluster adds a cluster with its first agent token.
func (r mutationResolver) CreateCluster(ctx context.Context, input CreateClusterInput) (*CreateClusterPayload, error) {
	if len(input.Name) > maxNameLength || !clusterName.MatchString(input.Name) {
		return nil, server.InvalidInput("input.name",
			"a cluster is named by up to %d lower case letters, digits and hyphens", maxNameLength)
	}
	cluster, secret, err := r.Store.CreateCluster(ctx, input.Name)
	if err != nil {
		return nil, err
	}
	r.Log.Info("Created a cluster", "cluster", cluster.ID, "name", cluster.Name)
	return &CreateClusterPayload{Cluster: &cluster, AgentToken: secret}, nil
}

// RotateAgentToken replaces the agent token of a cluster.
func (r mutationResolver) RotateAgentToken(ctx context.Context, clusterID string) (*CreateClusterPayload, error) {
	cluster, secret, err := r.Store.RotateAgentToken(ctx, clusterID)
	if err != nil {
		return nil, err
	}
	r.Log.Info("Replaced the agent token", "cluster", cluster.ID)
	return &CreateClusterPayload{Cluster: &cluster, AgentToken: secret}, nil
}

// CreateToken adds a token for a person or a script.
func (r mutationResolver) CreateToken(ctx context.Context, name string, role server.Role) (*CreateTokenPayload, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxNameLength {
		return nil, server.InvalidInput("name", "a token has a name of up to %d bytes", maxNameLength)
	}
	token, secret, err := r.Store.CreateToken(ctx, name, role)
	if err != nil {
		return nil, err
	}
	r.Log.Info("Created a token", "token", token.ID, "name", token.Name, "role", token.Role)
	return &CreateTokenPayload{Token: &token, Secret: secret}, nil
}

// RevokeToken ends a token of a person or a script.
func (r mutationResolver) RevokeToken(ctx context.Context, id string) (bool, error) {
	if err := r.Store.RevokeToken(ctx, id); err != nil {
		return false, err
	}
	r.Log.Info("Revoked a token", "token", id)
	return true, nil
}
