// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// MaxPage bounds the rows of one page.
const MaxPage = 5000

// MaxDeployments bounds the deployments of one answer, which has no pages.
const MaxDeployments = 5000

// PodStatusFilter picks pods; nil fields pick all.
type PodStatusFilter struct {
	ClusterID    *string
	Namespace    *string
	DeploymentID *string
	// Unhealthy pods are neither ready nor have they succeeded.
	Unhealthy *bool
}

// DeploymentStatusFilter picks observed StyrminDeployments; nil fields pick all.
type DeploymentStatusFilter struct {
	ClusterID    *string
	DeploymentID *string
}

// DeploymentFilter picks deployments; nil fields pick all.
type DeploymentFilter struct {
	ClusterID   *string
	Environment *string
	// Status nil picks all but the deleted ones.
	Status   *server.DeploymentStatusName
	Internal *bool
	Name     *string
}

// Page is a part of an ordered list.
type Page struct {
	// First is the number of rows wanted.
	First int
	// After is the cursor of the last row before them. Nil: from the start.
	After *string
}

// order applies a page to a query whose rows are ordered by cluster, namespace
// and name: the key is compared, never counted, so that rows that come and go
// between two pages neither repeat nor hide others.
func (p Page) order(query *bun.SelectQuery) (*bun.SelectQuery, error) {
	if p.First < 1 || p.First > MaxPage {
		return nil, server.InvalidInput("first", "%d is not within 1 and %d", p.First, MaxPage)
	}
	if p.After != nil {
		key, err := server.ParseCursor("after", *p.After, 3)
		if err != nil {
			return nil, err
		}
		query = query.Where("(cluster_id, namespace, name) > (?, ?, ?)", key[0], key[1], key[2])
	}
	return query.Order("cluster_id", "namespace", "name").Limit(int64(p.First)), nil
}

// PodStatuses returns a page of the observed pods.
func (s *Store) PodStatuses(ctx context.Context, filter PodStatusFilter, page Page) ([]server.PodStatus, error) {
	var rows []podRow
	err := s.read(ctx, "pod statuses", func(ctx context.Context, db bun.IDB) error {
		query := db.NewSelect().Model(&rows).ExcludeColumn("fingerprint")
		query = where(query, "cluster_id = ?", filter.ClusterID)
		query = where(query, "namespace = ?", filter.Namespace)
		query = where(query, "deployment_id = ?", filter.DeploymentID)
		if filter.Unhealthy != nil {
			query = query.Where("(NOT ready AND phase <> 'Succeeded') = ?", *filter.Unhealthy)
		}
		query, err := page.order(query)
		if err != nil {
			return err
		}
		return query.Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	return podStatuses(rows), nil
}

// DeploymentStatuses returns a page of the observed StyrminDeployments.
func (s *Store) DeploymentStatuses(ctx context.Context, filter DeploymentStatusFilter, page Page) ([]server.DeploymentStatus, error) {
	var rows []deploymentStatusRow
	err := s.read(ctx, "deployment statuses", func(ctx context.Context, db bun.IDB) error {
		query := db.NewSelect().Model(&rows)
		query = where(query, "cluster_id = ?", filter.ClusterID)
		query = where(query, "deployment_id = ?", filter.DeploymentID)
		query, err := page.order(query)
		if err != nil {
			return err
		}
		return query.Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	return deploymentStatuses(rows), nil
}

// Deployments returns the deployments by name. More than MaxDeployments are
// TOO_LARGE: nothing is left out silently.
func (s *Store) Deployments(ctx context.Context, filter DeploymentFilter) ([]server.Deployment, error) {
	var rows []deploymentRow
	err := s.read(ctx, "deployments", func(ctx context.Context, db bun.IDB) error {
		query := db.NewSelect().Model(&rows)
		query = where(query, "cluster_id = ?", filter.ClusterID)
		query = where(query, "environment = ?", filter.Environment)
		query = where(query, "status = ?", filter.Status)
		if filter.Status == nil {
			query = query.Where("status <> ?", server.DeploymentDeleted)
		}
		query = where(query, "internal = ?", filter.Internal)
		query = where(query, "name = ?", filter.Name)
		return query.Order("cluster_id", "name", "created_at", "id").Limit(MaxDeployments + 1).Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	if len(rows) > MaxDeployments {
		return nil, server.Errorf(server.CodeTooLarge, "there are more than %d deployments: pick some by the filter", MaxDeployments)
	}
	deployments := make([]server.Deployment, len(rows))
	for i := range rows {
		deployments[i] = rows[i].Deployment
	}
	return deployments, nil
}

// Deployment returns a deployment. An unknown one is NOT_FOUND.
func (s *Store) Deployment(ctx context.Context, id string) (server.Deployment, error) {
	row := new(deploymentRow)
	err := s.read(ctx, "deployment", func(ctx context.Context, db bun.IDB) error {
		return found(db.NewSelect().Model(row).Where("id = ?", id).Scan(ctx), "deployment", id)
	})
	if err != nil {
		return server.Deployment{}, err
	}
	return row.Deployment, nil
}

func where[T any](query *bun.SelectQuery, condition string, value *T) *bun.SelectQuery {
	if value == nil {
		return query
	}
	return query.Where(condition, *value)
}
