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

// sessionAge is how long an old session is remembered, so that its reports are
// refused as superseded and not as unknown: that would let a forgotten agent
// open a new session and win.
const sessionAge = 30 * 24 * time.Hour

type sessionRow struct {
	bun.BaseModel `bun:"table:sessions,alias:s"`

	ID                 string `bun:",pk"`
	ClusterID          string
	AgentID            string
	AgentVersion       string
	OpenedAt           time.Time
	PodSequence        int64
	DeploymentSequence int64
}

// OpenSession starts a reporting session for a cluster and supersedes the
// session before it (R2). A cluster UID that is not the cluster's, or that
// another cluster has, is a CLUSTER_MISMATCH.
func (s *Store) OpenSession(ctx context.Context, caller server.Identity, open server.OpenSession) (server.Session, error) {
	if err := caller.CheckCluster(open.ClusterID); err != nil {
		return server.Session{}, err
	}
	open = open.Clean()
	if err := open.Validate(); err != nil {
		return server.Session{}, err
	}
	session := server.Session{
		ID: newID(), ClusterID: open.ClusterID, AgentID: open.AgentID, AgentVersion: open.AgentVersion,
		OpenedAt: s.clock(), PodSequence: server.NoSequence, DeploymentSequence: server.NoSequence,
	}
	err := s.writeIn(ctx, "open session", open.ClusterID, func(ctx context.Context, tx bun.Tx, row *clusterRow) error {
		cluster := row.cluster()
		if err := cluster.CheckUID(open.ClusterUID); err != nil {
			return err
		}
		if err := checkUIDIsFree(ctx, tx, open); err != nil {
			return err
		}
		return insertSession(ctx, tx, session, open)
	})
	return session, err
}

// checkUIDIsFree refuses a Kubernetes cluster that reports as another cluster of
// the server already: its deployments would be adopted twice.
func checkUIDIsFree(ctx context.Context, tx bun.Tx, open server.OpenSession) error {
	var names []string
	err := tx.NewSelect().Model((*clusterRow)(nil)).Column("name").
		Where("uid = ?", open.ClusterUID).Where("id <> ?", open.ClusterID).Scan(ctx, &names)
	if err != nil {
		return fmt.Errorf("looking for the cluster UID: %w", err)
	}
	if len(names) > 0 {
		return server.ClusterMismatch(
			"the UID %s belongs to cluster %s: use the token of that one", open.ClusterUID, names[0])
	}
	return nil
}

func insertSession(ctx context.Context, tx bun.Tx, session server.Session, open server.OpenSession) error {
	row := sessionRow{
		ID: session.ID, ClusterID: session.ClusterID, AgentID: session.AgentID, AgentVersion: session.AgentVersion,
		OpenedAt: session.OpenedAt, PodSequence: session.PodSequence, DeploymentSequence: session.DeploymentSequence,
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("inserting the session: %w", err)
	}
	_, err := tx.NewUpdate().Model((*clusterRow)(nil)).
		Set("uid = ?", open.ClusterUID).Set("session_id = ?", session.ID).
		Set("agent_id = ?", session.AgentID).Set("agent_version = ?", session.AgentVersion).
		Where("id = ?", session.ClusterID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("making the session the cluster's: %w", err)
	}
	_, err = tx.NewDelete().Model((*sessionRow)(nil)).
		Where("cluster_id = ?", session.ClusterID).
		Where("opened_at < ?", session.OpenedAt.Add(-sessionAge)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("deleting old sessions: %w", err)
	}
	return nil
}

// reporting is an admitted session with its cluster, which is locked.
type reporting struct {
	session server.Session
	cluster *clusterRow
}

// admit finds the session of a report, whose cluster is locked. The error says
// why the caller may not report in it (R2, R14).
func admit(ctx context.Context, tx bun.Tx, caller server.Identity, id string, cluster *clusterRow) (*reporting, error) {
	row := new(sessionRow)
	if err := tx.NewSelect().Model(row).Where("id = ?", id).Scan(ctx); err != nil {
		if isMissing(err) {
			return nil, server.SessionUnknown(id)
		}
		return nil, fmt.Errorf("reading the session: %w", err)
	}
	session := server.Session{
		ID: row.ID, ClusterID: row.ClusterID, AgentID: row.AgentID, AgentVersion: row.AgentVersion,
		OpenedAt: row.OpenedAt, PodSequence: row.PodSequence, DeploymentSequence: row.DeploymentSequence,
	}
	if err := session.Admit(caller, cluster.cluster()); err != nil {
		return nil, err
	}
	return &reporting{session: session, cluster: cluster}, nil
}

// advance stores that a report of the kind was applied, in the transaction that
// applies it.
func (r *reporting) advance(ctx context.Context, tx bun.Tx) error {
	_, err := tx.NewUpdate().Model((*sessionRow)(nil)).
		Set("pod_sequence = ?", r.session.PodSequence).
		Set("deployment_sequence = ?", r.session.DeploymentSequence).
		Where("id = ?", r.session.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("storing the sequence: %w", err)
	}
	return nil
}

// received stores that a complete report of the kind came in (R3).
func (r *reporting) received(ctx context.Context, tx bun.Tx, kind server.ReportKind, header server.ReportHeader, at time.Time) error {
	if !header.Complete {
		return nil
	}
	columns := "deployments"
	if kind == server.ReportKindPods {
		columns = "pods"
	}
	_, err := tx.NewUpdate().Model((*clusterRow)(nil)).
		Set("? = ?", bun.Ident(columns+"_report_at"), at).
		Set("? = ?", bun.Ident(columns+"_data_age_seconds"), header.DataAge().Seconds()).
		Where("id = ?", r.session.ClusterID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("storing the time of the report: %w", err)
	}
	return nil
}
