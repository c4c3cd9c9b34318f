// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// namespaceOwners maps namespaces of a cluster to the deployments whose pods
// they hold.
func namespaceOwners(ctx context.Context, tx bun.Tx, clusterID string, namespaces []string) (map[string]string, error) {
	owners := map[string]string{}
	for namespaces := range slices.Chunk(namespaces, batch) {
		var rows []deploymentStatusRow
		err := tx.NewSelect().Model(&rows).Column("target_namespace", "deployment_id", "conditions").
			Where("cluster_id = ?", clusterID).Where("target_namespace IN (?)", bun.List(namespaces)).Scan(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading whose the namespaces are: %w", err)
		}
		maps.Copy(owners, server.NamespaceOwners(deploymentStatuses(rows)))
	}
	return owners, nil
}

// reassignPods gives the pods of namespaces to their new owners, "" for none.
func reassignPods(ctx context.Context, tx bun.Tx, clusterID string, owners map[string]string) error {
	for namespaces := range slices.Chunk(slices.Sorted(maps.Keys(owners)), batch) {
		var owned pairs
		for _, namespace := range namespaces {
			if owner := owners[namespace]; owner != "" {
				owned = append(owned, [2]string{namespace, owner})
			}
		}
		update := tx.NewUpdate().Table("pod_statuses")
		if owned == nil {
			update = update.Set("deployment_id = NULL")
		} else {
			// Both databases name the columns of VALUES like this.
			update = update.Set("deployment_id = (SELECT o.column2 FROM (?) AS o WHERE o.column1 = pod_statuses.namespace)", owned)
		}
		_, err := update.Where("cluster_id = ?", clusterID).Where("namespace IN (?)", bun.List(namespaces)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("assigning pods to deployments: %w", err)
		}
	}
	return nil
}
