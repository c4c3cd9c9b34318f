// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// Adopt makes the deployment of a StyrminDeployment that no one created through
// the server (R14). It is PENDING until the report itself is applied to it.
func Adopt(observed DeploymentStatus, received time.Time) Deployment {
	return Deployment{
		ID:          observed.DeploymentID,
		ClusterID:   observed.ClusterID,
		Name:        observed.Name,
		Internal:    observed.Internal,
		ManagedBy:   DeploymentManagerCluster,
		Status:      DeploymentPending,
		StatusSince: received,
		CreatedAt:   received,
	}
}
