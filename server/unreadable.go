// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "slices"

// unreadable are the StyrminDeployments of a report whose rows were rejected.
// They are in the cluster, though nothing can be read of them: what is stored of
// them stays as it is, and they do not count as absent (R15).
type unreadable []DeploymentStatus

// mayHold tells whether one of them may be the stored object: it has its name,
// its uid or its deployment.
func (u unreadable) mayHold(stored *DeploymentStatus) bool {
	return slices.ContainsFunc(u, func(row DeploymentStatus) bool {
		return row.isAnonymous() || row.Key() == stored.Key() ||
			row.UID != "" && row.UID == stored.UID || row.DeploymentID == stored.DeploymentID
	})
}

// mayBeOf tells whether one of them may be of the deployment.
func (u unreadable) mayBeOf(deploymentID string) bool {
	return slices.ContainsFunc(u, func(row DeploymentStatus) bool {
		return row.isAnonymous() || row.DeploymentID == deploymentID
	})
}

// isAnonymous tells whether a row says nothing by which its object can be told
// from others.
func (d *DeploymentStatus) isAnonymous() bool {
	return (d.Namespace == "" || d.Name == "") && d.UID == "" && d.DeploymentID == ""
}
