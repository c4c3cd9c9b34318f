// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// batch bounds the rows of one statement.
const batch = 500

type podRow struct {
	bun.BaseModel `bun:"table:pod_statuses,alias:p"`

	server.PodStatus
	Fingerprint server.PodFingerprint
}

type podNamespaceRow struct {
	bun.BaseModel `bun:"table:pod_namespaces,alias:n"`

	ClusterID string
	Namespace string
	Digest    *string
}

// ApplyPodReport applies one half of a snapshot (R1, R2).
func (s *Store) ApplyPodReport(ctx context.Context, caller server.Identity, report server.PodReport) (server.PodReportResult, error) {
	report = report.Clean()
	if err := report.Validate(); err != nil {
		return server.PodReportResult{}, err
	}
	at := s.receivedAt(report.Header)
	clusterID, err := s.clusterOfSession(ctx, caller, report.Header.SessionID)
	if err != nil {
		return server.PodReportResult{}, err
	}
	var result server.PodReportResult
	err = s.writeIn(ctx, "apply pod report", clusterID, func(ctx context.Context, tx bun.Tx, row *clusterRow) error {
		reporting, err := admit(ctx, tx, caller, report.Header.SessionID, row)
		if err != nil {
			return err
		}
		if !reporting.session.Advance(server.ReportKindPods, report.Header.Sequence) {
			result = server.PodReportResult{Sequence: reporting.session.PodSequence}
			return nil
		}
		result, err = applyPods(ctx, tx, reporting.session.ClusterID, report, at)
		if err != nil {
			return err
		}
		// Where a namespace is asked for again, what is stored of it is not what is.
		if len(result.Resend) == 0 {
			if err := reporting.received(ctx, tx, server.ReportKindPods, report.Header, at); err != nil {
				return err
			}
		}
		return reporting.advance(ctx, tx)
	})
	return result, err
}

func applyPods(ctx context.Context, tx bun.Tx, clusterID string, report server.PodReport, at time.Time) (server.PodReportResult, error) {
	result := server.PodReportResult{Sequence: report.Header.Sequence, Applied: true}
	digests, err := podDigests(ctx, tx, clusterID)
	if err != nil {
		return result, err
	}
	stored, err := podsInScope(ctx, tx, clusterID, report.Scope(digests))
	if err != nil {
		return result, err
	}
	changes, err := report.Apply(digests, stored)
	if err != nil {
		return result, err
	}
	if err := storeDigests(ctx, tx, clusterID, digests, changes); err != nil {
		return result, err
	}
	if result.Deleted, err = deletePods(ctx, tx, clusterID, changes); err != nil {
		return result, err
	}
	if err := upsertPods(ctx, tx, clusterID, changes.Upserts, at); err != nil {
		return result, err
	}
	result.Upserted = len(changes.Upserts)
	result.Rejected, result.Resend = changes.Rejected, changes.Resend
	return result, nil
}

func podDigests(ctx context.Context, tx bun.Tx, clusterID string) (server.NamespaceDigests, error) {
	var rows []podNamespaceRow
	if err := tx.NewSelect().Model(&rows).Where("cluster_id = ?", clusterID).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading the digests: %w", err)
	}
	digests := make(server.NamespaceDigests, len(rows))
	for _, row := range rows {
		digests[row.Namespace] = row.Digest
	}
	return digests, nil
}

func podsInScope(ctx context.Context, tx bun.Tx, clusterID string, scope server.PodScope) (map[server.PodKey]server.StoredPod, error) {
	stored := map[server.PodKey]server.StoredPod{}
	read := func(where string, keys any) error {
		var rows []struct {
			Namespace, Name string
			Fingerprint     server.PodFingerprint
		}
		err := tx.NewSelect().Table("pod_statuses").Column("namespace", "name", "fingerprint").
			Where("cluster_id = ?", clusterID).Where(where, keys).Scan(ctx, &rows)
		if err != nil {
			return fmt.Errorf("reading the pods: %w", err)
		}
		for _, row := range rows {
			stored[server.PodKey{Namespace: row.Namespace, Name: row.Name}] = server.StoredPod{Fingerprint: row.Fingerprint}
		}
		return nil
	}
	for namespaces := range slices.Chunk(scope.Whole, batch) {
		if err := read("namespace IN (?)", bun.List(namespaces)); err != nil {
			return nil, err
		}
	}
	for keys := range slices.Chunk(scope.Named, batch) {
		if err := read("(namespace, name) IN (?)", podKeys(keys)); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

// storeDigests also makes the namespaces known that get their first rows, and
// drops those that are gone with their rows.
func storeDigests(ctx context.Context, tx bun.Tx, clusterID string, stored server.NamespaceDigests, changes server.PodChanges) error {
	var rows []podNamespaceRow
	for namespace, digest := range changes.Digests {
		if before, known := stored[namespace]; known && equal(before, digest) {
			continue
		}
		rows = append(rows, podNamespaceRow{ClusterID: clusterID, Namespace: namespace, Digest: digest})
	}
	for rows := range slices.Chunk(rows, batch) {
		_, err := tx.NewInsert().Model(&rows).
			On("CONFLICT (cluster_id, namespace) DO UPDATE").Set("digest = EXCLUDED.digest").Exec(ctx)
		if err != nil {
			return fmt.Errorf("storing the digests: %w", err)
		}
	}
	for namespaces := range slices.Chunk(changes.DropNamespaces, batch) {
		_, err := tx.NewDelete().Model((*podNamespaceRow)(nil)).
			Where("cluster_id = ?", clusterID).Where("namespace IN (?)", bun.List(namespaces)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("dropping namespaces: %w", err)
		}
	}
	return nil
}

func deletePods(ctx context.Context, tx bun.Tx, clusterID string, changes server.PodChanges) (int, error) {
	deleted := 0
	remove := func(where string, keys any) error {
		result, err := tx.NewDelete().Model((*podRow)(nil)).
			Where("cluster_id = ?", clusterID).Where(where, keys).Exec(ctx)
		if err != nil {
			return fmt.Errorf("deleting pods: %w", err)
		}
		n, err := result.RowsAffected()
		deleted += int(n)
		return err
	}
	for namespaces := range slices.Chunk(changes.DropNamespaces, batch) {
		if err := remove("namespace IN (?)", bun.List(namespaces)); err != nil {
			return 0, err
		}
	}
	for keys := range slices.Chunk(changes.Deletes, batch) {
		if err := remove("(namespace, name) IN (?)", podKeys(keys)); err != nil {
			return 0, err
		}
	}
	for gone := range slices.Chunk(changes.Gone, batch) {
		keys := make(pairs, len(gone))
		for i, pod := range gone {
			keys[i] = [2]string{pod.Namespace, pod.UID}
		}
		if err := remove("(namespace, uid) IN (?)", keys); err != nil {
			return 0, err
		}
	}
	return deleted, nil
}

// upsertPods replaces whole rows, so that nothing of an earlier pod of the name
// stays.
func upsertPods(ctx context.Context, tx bun.Tx, clusterID string, pods []server.FingerprintedPod, at time.Time) error {
	if len(pods) == 0 {
		return nil
	}
	owners, err := namespaceOwners(ctx, tx, clusterID, namespacesOf(pods))
	if err != nil {
		return err
	}
	for pods := range slices.Chunk(pods, batch) {
		rows := make([]podRow, len(pods))
		for i, pod := range pods {
			rows[i] = podRow{PodStatus: pod.PodStatus, Fingerprint: pod.Fingerprint}
			rows[i].ClusterID = clusterID
			rows[i].ChangedAt = at
			if owner, owned := owners[pod.Namespace]; owned {
				rows[i].DeploymentID = &owner
			}
		}
		_, err := tx.NewInsert().Model(&rows).On("CONFLICT (cluster_id, namespace, name) DO UPDATE").Exec(ctx)
		if err != nil {
			return fmt.Errorf("writing pods: %w", err)
		}
	}
	return nil
}

// namespacesOf lists the namespaces of pods, each once.
func namespacesOf(pods []server.FingerprintedPod) []string {
	namespaces := make([]string, len(pods))
	for i := range pods {
		namespaces[i] = pods[i].Namespace
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// podsOf reads the stored pods of a deployment.
func podsOf(ctx context.Context, tx bun.Tx, deploymentID string) ([]server.PodStatus, error) {
	var rows []podRow
	err := tx.NewSelect().Model(&rows).ExcludeColumn("fingerprint").Where("deployment_id = ?", deploymentID).
		Order("namespace", "name").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the pods of deployment %s: %w", deploymentID, err)
	}
	return podStatuses(rows), nil
}

func podStatuses(rows []podRow) []server.PodStatus {
	pods := make([]server.PodStatus, len(rows))
	for i := range rows {
		pods[i] = rows[i].PodStatus
	}
	return pods
}

func podKeys(keys []server.PodKey) pairs {
	list := make(pairs, len(keys))
	for i, key := range keys {
		list[i] = [2]string{key.Namespace, key.Name}
	}
	return list
}
