// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"time"

	"github.com/styrmin/styrmin/test/system"
)

// view is what the server shows.
type view struct {
	Cluster struct {
		LastReportAt   *time.Time
		DataAgeSeconds *float64
		Pods           int
	}
	PodStatuses []struct{ Name, Status string }
	Deployments []struct{ Name, Status string }
}

const viewQuery = `query($cluster: ID!, $namespace: String!) {
	cluster(id: $cluster) { lastReportAt dataAgeSeconds pods }
	podStatuses(filter: {namespace: $namespace}) { name status }
	deployments(filter: {name: $namespace}) { name status }
}`

// look asks the server what it shows of a namespace, and of the deployment that
// has its name.
func look(ctx context.Context, server *system.System, namespace string) (*view, error) {
	v := &view{}
	err := server.Query(ctx, viewQuery, map[string]any{"cluster": server.ClusterID, "namespace": namespace}, v)
	return v, err
}

// shows returns what the view tells of a subject. A deployment that is DELETED is
// told of as one that is not there.
func (v *view) shows(s subject) string {
	rows := v.PodStatuses
	if s.half == deployments {
		rows = v.Deployments
	}
	for _, row := range rows {
		if row.Name == s.name && row.Status != "DELETED" {
			return row.Status
		}
	}
	return absent
}

// freshUntil is the time up to which the view claims to be current.
func (v *view) freshUntil() time.Time {
	if v.Cluster.LastReportAt == nil {
		return time.Time{}
	}
	age := time.Duration(*v.Cluster.DataAgeSeconds * float64(time.Second))
	return v.Cluster.LastReportAt.Add(-age)
}
