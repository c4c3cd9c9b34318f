// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "slices"

// unreadable are the StyrminDeployments of a report whose rows were rejected.
// They are in the cluster, though nothing can be read of them: what is stored of
// them stays as it is, and they do not count as absent (R15).
type unreadable []DeploymentStatus

// mayHold tells whether the object of the row may be one of them.
func (u unreadable) mayHold(stored *DeploymentStatus) bool {
	return slices.ContainsFunc(u, func(object DeploymentStatus) bool { return object.mayBe(stored) })
}

// mayBe tells whether an object that cannot be read may be that of the row: it has
// its uid or, having none, contradicts the row in nothing that it has.
func (d *DeploymentStatus) mayBe(stored *DeploymentStatus) bool {
	if d.UID != "" {
		return d.UID == stored.UID
	}
	agrees := func(part, whole string) bool { return part == "" || part == whole }
	return agrees(d.Namespace, stored.Namespace) && agrees(d.Name, stored.Name) && agrees(d.DeploymentID, stored.DeploymentID)
}

// owners are the deployments that the objects are of: those that they name or,
// where they name none, those of the rows of their uid or their name, which may be
// of the object before this one. anyone: one is of no deployment that can be told,
// so it may be of any.
func (u unreadable) owners(stored []DeploymentStatus) (owners map[string]bool, anyone bool) {
	owners = map[string]bool{}
	for i := range u {
		object := &u[i]
		if object.DeploymentID != "" {
			owners[object.DeploymentID] = true
			continue
		}
		told := false
		for j := range stored {
			if row := &stored[j]; row.Key() == object.Key() || row.UID == object.UID {
				owners[row.DeploymentID], told = true, true
			}
		}
		anyone = anyone || !told
	}
	return owners, anyone
}
