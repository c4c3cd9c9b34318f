// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// place is where a task belongs, for ever: so it can be looked up before its
// cluster is locked, to know which one that is.
type place struct{ DeploymentID, ClusterID string }

// placeOfTask looks a task up. An unknown one is NOT_FOUND, one of a cluster that
// is not the caller's FORBIDDEN.
func (s *Store) placeOfTask(ctx context.Context, caller server.Identity, id string) (place, error) {
	var of place
	err := s.read(ctx, "place of task", func(ctx context.Context, db bun.IDB) error {
		err := db.NewSelect().TableExpr("tasks AS t").Join("JOIN deployments AS d ON d.id = t.deployment_id").
			ColumnExpr("d.id AS deployment_id, d.cluster_id").Where("t.id = ?", id).Scan(ctx, &of)
		return found(err, "task", id)
	})
	if err != nil {
		return of, err
	}
	return of, caller.CheckCluster(of.ClusterID)
}

// clusterOfDeployment looks a deployment up. An unknown one is NOT_FOUND, one of a
// cluster that is not the caller's FORBIDDEN.
func (s *Store) clusterOfDeployment(ctx context.Context, caller server.Identity, id string) (string, error) {
	deployment, err := s.Deployment(ctx, id)
	if err != nil {
		return "", err
	}
	return deployment.ClusterID, caller.CheckCluster(deployment.ClusterID)
}

// clusterOfSession looks a session up. An unknown one is SESSION_UNKNOWN, one of a
// cluster that is not the caller's FORBIDDEN.
func (s *Store) clusterOfSession(ctx context.Context, caller server.Identity, id string) (string, error) {
	row := new(sessionRow)
	err := s.read(ctx, "cluster of session", func(ctx context.Context, db bun.IDB) error {
		err := db.NewSelect().Model(row).Column("cluster_id").Where("id = ?", id).Scan(ctx)
		if isMissing(err) {
			return server.SessionUnknown(id)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return row.ClusterID, caller.CheckCluster(row.ClusterID)
}
