// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
	"time"
)

// ClustersService reads and registers clusters.
type ClustersService struct{ client *Client }

// Cluster is a cluster whose agent reports to the server.
type Cluster struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// UID is that of the cluster itself. Empty: no agent has reported yet.
	UID          string `json:"uid,omitempty"`
	AgentID      string `json:"agentId,omitempty"`
	AgentVersion string `json:"agentVersion,omitempty"`
	// LastReportAt is when the server last received a complete report, by the
	// server's clock.
	LastReportAt time.Time `json:"lastReportAt,omitzero"`
	// DataAgeSeconds is how old that report's data was when it was sent.
	DataAgeSeconds *float64 `json:"dataAgeSeconds,omitempty"`
	Pods           int      `json:"pods"`
	Deployments    int      `json:"deployments"`
}

// ClusterToken is a cluster with its agent's token, which is told this once.
type ClusterToken struct {
	Cluster    Cluster `json:"cluster"`
	AgentToken string  `json:"agentToken"`
}

type createClusterInput struct {
	Name string `json:"name"`
}

// List returns all clusters.
func (s *ClustersService) List(ctx context.Context) ([]Cluster, error) {
	answer, err := retry(ctx, s.client, func(ctx context.Context) (*listClustersResponse, error) {
		return listClusters(ctx, s.client.graphql)
	})
	if err != nil {
		return nil, fmt.Errorf("listing clusters: %w", err)
	}
	return answer.Clusters, nil
}

// Create registers a cluster and makes a token for its agent. It is not tried
// again, since a repeat would be another cluster.
func (s *ClustersService) Create(ctx context.Context, name string) (*ClusterToken, error) {
	answer, err := createCluster(ctx, s.client.graphql, createClusterInput{Name: name})
	if err != nil {
		return nil, fmt.Errorf("creating cluster %s: %w", name, err)
	}
	return &answer.CreateCluster, nil
}

// RotateToken makes a new token for the cluster's agent; the earlier ones stop
// working at once. It is not tried again: a repeat would end the token that the
// first try made.
func (s *ClustersService) RotateToken(ctx context.Context, id string) (*ClusterToken, error) {
	answer, err := rotateAgentToken(ctx, s.client.graphql, id)
	if err != nil {
		return nil, fmt.Errorf("rotating the token of cluster %s: %w", id, err)
	}
	return &answer.RotateAgentToken, nil
}
