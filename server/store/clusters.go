// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

type clusterRow struct {
	bun.BaseModel `bun:"table:clusters,alias:c"`

	ID           string `bun:",pk"`
	Name         string
	UID          *string
	AgentID      *string
	AgentVersion *string
	SessionID    *string
	CreatedAt    time.Time

	PodsReportAt              *time.Time
	PodsDataAgeSeconds        *float64
	DeploymentsReportAt       *time.Time
	DeploymentsDataAgeSeconds *float64
	DeploymentsDigest         *string

	Pods        int `bun:",scanonly"`
	Deployments int `bun:",scanonly"`
}

func (r *clusterRow) cluster() server.Cluster {
	last := server.LastReport(
		server.KindReport{At: r.PodsReportAt, DataAgeSeconds: r.PodsDataAgeSeconds},
		server.KindReport{At: r.DeploymentsReportAt, DataAgeSeconds: r.DeploymentsDataAgeSeconds})
	return server.Cluster{
		ID: r.ID, Name: r.Name, UID: r.UID,
		AgentID: r.AgentID, AgentVersion: r.AgentVersion, SessionID: r.SessionID,
		CreatedAt: r.CreatedAt, LastReportAt: last.At, DataAgeSeconds: last.DataAgeSeconds,
		Pods: r.Pods, Deployments: r.Deployments,
	}
}

// CreateCluster adds a cluster and returns it with the secret of its agent
// token. A name that is taken is a CONFLICT.
func (s *Store) CreateCluster(ctx context.Context, name string) (server.Cluster, string, error) {
	row := clusterRow{ID: newID(), Name: name, CreatedAt: s.clock()}
	secret := server.NewSecret()
	err := s.write(ctx, "create cluster", func(ctx context.Context, tx bun.Tx) error {
		result, err := tx.NewInsert().Model(&row).On("CONFLICT (name) DO NOTHING").Exec(ctx)
		if err != nil {
			return fmt.Errorf("inserting the cluster: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return orConflict(err, "input.name", "there is a cluster named %s", name)
		}
		return insertAgentToken(ctx, tx, row.ID, secret, row.CreatedAt)
	})
	if err != nil {
		return server.Cluster{}, "", err
	}
	return row.cluster(), secret, nil
}

// RotateAgentToken makes a new agent token for a cluster; the earlier ones stop
// working.
func (s *Store) RotateAgentToken(ctx context.Context, clusterID string) (server.Cluster, string, error) {
	row := new(clusterRow)
	secret := server.NewSecret()
	err := s.writeIn(ctx, "rotate agent token", clusterID, func(ctx context.Context, tx bun.Tx, _ *clusterRow) error {
		if err := selectClusters(tx, row).Where("c.id = ?", clusterID).Scan(ctx); err != nil {
			return fmt.Errorf("reading the cluster: %w", err)
		}
		_, err := tx.NewDelete().Model((*tokenRow)(nil)).Where("cluster_id = ?", clusterID).Exec(ctx)
		if err != nil {
			return fmt.Errorf("deleting the earlier tokens: %w", err)
		}
		return insertAgentToken(ctx, tx, clusterID, secret, s.clock())
	})
	if err != nil {
		return server.Cluster{}, "", err
	}
	return row.cluster(), secret, nil
}

// lockCluster reads a cluster and keeps every other use case that changes it, or
// what belongs to it, waiting until the transaction ends.
func (s *Store) lockCluster(ctx context.Context, tx bun.Tx, id string) (*clusterRow, error) {
	row := new(clusterRow)
	query := tx.NewSelect().Model(row).Where("c.id = ?", id)
	if clause := s.dialect.forUpdate(); clause != "" {
		query = query.For(clause)
	}
	if err := query.Scan(ctx); err != nil {
		return nil, found(err, "cluster", id)
	}
	return row, nil
}

// Clusters returns all clusters by name.
func (s *Store) Clusters(ctx context.Context) ([]server.Cluster, error) {
	var rows []clusterRow
	err := s.read(ctx, "clusters", func(ctx context.Context, db bun.IDB) error {
		return selectClusters(db, &rows).Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	clusters := make([]server.Cluster, len(rows))
	for i := range rows {
		clusters[i] = rows[i].cluster()
	}
	return clusters, nil
}

// Cluster returns a cluster. An unknown one is NOT_FOUND.
func (s *Store) Cluster(ctx context.Context, id string) (server.Cluster, error) {
	row := new(clusterRow)
	err := s.read(ctx, "cluster", func(ctx context.Context, db bun.IDB) error {
		return found(selectClusters(db, row).Where("c.id = ?", id).Scan(ctx), "cluster", id)
	})
	if err != nil {
		return server.Cluster{}, err
	}
	return row.cluster(), nil
}

func selectClusters(db bun.IDB, model any) *bun.SelectQuery {
	return db.NewSelect().Model(model).ColumnExpr("c.*").
		ColumnExpr("(SELECT count(*) FROM pod_statuses AS p WHERE p.cluster_id = c.id) AS pods").
		ColumnExpr("(SELECT count(*) FROM deployment_statuses AS d WHERE d.cluster_id = c.id) AS deployments").
		Order("c.name")
}

// orConflict returns the error, or without one a CONFLICT.
func orConflict(err error, field, format string, args ...any) error {
	if err != nil {
		return fmt.Errorf("counting the rows: %w", err)
	}
	return &server.Error{Code: server.CodeConflict, Field: field, Message: fmt.Sprintf(format, args...)}
}
