// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

type deploymentStatusRow struct {
	bun.BaseModel `bun:"table:deployment_statuses,alias:ds"`

	server.DeploymentStatus
}

// ApplyDeploymentReport applies the other half of a snapshot: the rows (R1, R2)
// and what they mean for the deployments of the cluster (R4 to R10, R14).
func (s *Store) ApplyDeploymentReport(ctx context.Context, caller server.Identity, report server.DeploymentReport) (server.DeploymentReportResult, error) {
	if err := report.Validate(); err != nil {
		return server.DeploymentReportResult{}, err
	}
	at := s.receivedAt(report.Header)
	clusterID, err := s.clusterOfSession(ctx, caller, report.Header.SessionID)
	if err != nil {
		return server.DeploymentReportResult{}, err
	}
	var result server.DeploymentReportResult
	err = s.writeIn(ctx, "apply deployment report", clusterID, func(ctx context.Context, tx bun.Tx, row *clusterRow) error {
		reporting, err := admit(ctx, tx, caller, report.Header.SessionID, row)
		if err != nil {
			return err
		}
		if !reporting.session.Advance(server.ReportKindDeployments, report.Header.Sequence) {
			result = server.DeploymentReportResult{Sequence: reporting.session.DeploymentSequence}
			return nil
		}
		result = server.DeploymentReportResult{Sequence: report.Header.Sequence, Applied: true}
		report := report.Clean(reporting.session.ClusterID)
		if report.Matches(reporting.cluster.DeploymentsDigest) {
			apply := deploymentReport{tx: tx, report: report, reporting: reporting, at: at}
			if err := apply.run(ctx, &result); err != nil {
				return err
			}
		} else {
			result.Resend = true
		}
		return reporting.advance(ctx, tx)
	})
	return result, err
}

// deploymentReport is a report that is being applied.
type deploymentReport struct {
	tx        bun.Tx
	report    server.DeploymentReport
	reporting *reporting
	// at is when the report came in.
	at time.Time
}

func (r *deploymentReport) run(ctx context.Context, result *server.DeploymentReportResult) error {
	stored, err := r.storedRows(ctx)
	if err != nil {
		return err
	}
	foreign, err := r.foreign(ctx)
	if err != nil {
		return err
	}
	rows, err := r.report.Apply(stored, foreign)
	if err != nil {
		return err
	}
	if err := r.applyToDeployments(ctx, rows, stored); err != nil {
		return err
	}
	if err := r.storeRows(ctx, rows, stored); err != nil {
		return err
	}
	if err := reassignPods(ctx, r.tx, r.clusterID(), server.MovedNamespaces(stored, rows.After(stored))); err != nil {
		return err
	}
	if err := r.storeDigest(ctx, rows); err != nil {
		return err
	}
	result.Upserted, result.Deleted, result.Rejected = len(rows.Upserts), len(rows.Deletes), rows.Rejected
	return r.reporting.received(ctx, r.tx, server.ReportKindDeployments, r.report.Header, r.at)
}

func (r *deploymentReport) clusterID() string { return r.reporting.session.ClusterID }

func (r *deploymentReport) storedRows(ctx context.Context) ([]server.DeploymentStatus, error) {
	var rows []deploymentStatusRow
	err := r.tx.NewSelect().Model(&rows).Where("cluster_id = ?", r.clusterID()).
		Order("namespace", "name").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the deployment statuses: %w", err)
	}
	return deploymentStatuses(rows), nil
}

func deploymentStatuses(rows []deploymentStatusRow) []server.DeploymentStatus {
	statuses := make([]server.DeploymentStatus, len(rows))
	for i := range rows {
		statuses[i] = rows[i].DeploymentStatus
	}
	return statuses
}

// foreign returns the reported deployments that belong to other clusters.
func (r *deploymentReport) foreign(ctx context.Context) (map[string]bool, error) {
	ids := make([]string, len(r.report.Deployments))
	for i := range r.report.Deployments {
		ids[i] = r.report.Deployments[i].DeploymentID
	}
	foreign := map[string]bool{}
	for ids := range slices.Chunk(ids, batch) {
		var found []string
		err := r.tx.NewSelect().Model((*deploymentRow)(nil)).Column("id").
			Where("id IN (?)", bun.List(ids)).Where("cluster_id <> ?", r.clusterID()).Scan(ctx, &found)
		if err != nil {
			return nil, fmt.Errorf("looking for deployments of other clusters: %w", err)
		}
		for _, id := range found {
			foreign[id] = true
		}
	}
	return foreign, nil
}

// rowTimes returns when objects were last in a complete report; for one that
// never was, now. An incomplete report moves no such time (R1).
func (r *deploymentReport) rowTimes(stored []server.DeploymentStatus) func(*server.DeploymentStatus) time.Time {
	type identity struct{ uid, namespace, name string }
	times := map[identity]time.Time{}
	if !r.report.Header.Complete {
		for i := range stored {
			times[identity{stored[i].UID, stored[i].Namespace, stored[i].Name}] = stored[i].LastReportAt
		}
	}
	return func(status *server.DeploymentStatus) time.Time {
		if at, known := times[identity{status.UID, status.Namespace, status.Name}]; known {
			return at
		}
		return r.at
	}
}

func (r *deploymentReport) storeRows(ctx context.Context, rows server.DeploymentRows, stored []server.DeploymentStatus) error {
	for gone := range slices.Chunk(rows.Deletes, batch) {
		_, err := r.tx.NewDelete().Model((*deploymentStatusRow)(nil)).
			Where("cluster_id = ?", r.clusterID()).Where("(namespace, name) IN (?)", objectKeys(gone)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("deleting deployment statuses: %w", err)
		}
	}
	reportedAt := r.rowTimes(stored)
	for statuses := range slices.Chunk(rows.Upserts, batch) {
		models := make([]deploymentStatusRow, len(statuses))
		for i, status := range statuses {
			models[i].DeploymentStatus = status
			models[i].LastReportAt = reportedAt(&status)
		}
		_, err := r.tx.NewInsert().Model(&models).On("CONFLICT (cluster_id, namespace, name) DO UPDATE").Exec(ctx)
		if err != nil {
			return fmt.Errorf("writing deployment statuses: %w", err)
		}
	}
	if !r.report.Header.Complete {
		return nil
	}
	update := r.tx.NewUpdate().Model((*deploymentStatusRow)(nil)).
		Set("last_report_at = ?", r.at).Where("cluster_id = ?", r.clusterID())
	if len(rows.Unread) > 0 {
		update = update.Where("(namespace, name) NOT IN (?)", objectKeys(rows.Unread))
	}
	if _, err := update.Exec(ctx); err != nil {
		return fmt.Errorf("storing the time of the report: %w", err)
	}
	return nil
}

func objectKeys(objects []server.DeploymentStatus) pairs {
	list := make(pairs, len(objects))
	for i := range objects {
		list[i] = [2]string{objects[i].Namespace, objects[i].Name}
	}
	return list
}

// storeDigest keeps the digest of a complete report and forgets it after one that
// is not, or of which rows were rejected: those leave nobody's whole state.
func (r *deploymentReport) storeDigest(ctx context.Context, rows server.DeploymentRows) error {
	digest := r.report.Digest
	if !r.report.Header.Complete || len(rows.Rejected) > 0 {
		digest = nil
	}
	if equal(digest, r.reporting.cluster.DeploymentsDigest) {
		return nil
	}
	_, err := r.tx.NewUpdate().Model((*clusterRow)(nil)).
		Set("deployments_digest = ?", digest).Where("id = ?", r.clusterID()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("storing the digest: %w", err)
	}
	return nil
}

// applyToDeployments lets the rules judge each deployment that was reported, and
// each that a complete report does not hold.
func (r *deploymentReport) applyToDeployments(ctx context.Context, rows server.DeploymentRows, stored []server.DeploymentStatus) error {
	states, before, err := r.loadStates(ctx, rows, stored)
	if err != nil {
		return err
	}
	receipt := server.Receipt{At: r.at, SentAt: r.report.Header.SentAt, Complete: r.report.Header.Complete}
	for _, id := range slices.Sorted(maps.Keys(states)) {
		state := states[id]
		if objects, reported := rows.Reported[id]; reported {
			var failed error
			pods := func() []server.PodStatus {
				var pods []server.PodStatus
				pods, failed = podsOf(ctx, r.tx, id)
				return pods
			}
			state.ApplyReport(*state.Deployment.Prevailing(objects), pods, receipt)
			if failed != nil {
				return failed
			}
		} else if r.report.Header.Complete && rows.Absent(id) {
			state.ApplyAbsence(r.at, r.at.Add(-r.report.Header.DataAge()))
		}
		if err := storeState(ctx, r.tx, before[id], state); err != nil {
			return err
		}
	}
	return r.touchDeployments(ctx, rows)
}

// touchDeployments stores the time of a complete report for all deployments that
// it held, in one statement.
func (r *deploymentReport) touchDeployments(ctx context.Context, rows server.DeploymentRows) error {
	if !r.report.Header.Complete {
		return nil
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(rows.Reported)), batch) {
		_, err := r.tx.NewUpdate().Model((*deploymentRow)(nil)).
			Set("last_report_at = ?", r.at).Where("id IN (?)", bun.List(ids)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("storing the time of the report: %w", err)
		}
	}
	return nil
}
