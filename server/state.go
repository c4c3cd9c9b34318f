// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// State is everything that the rules read and change of one deployment. A
// caller loads it, calls one function, and writes what changed, all in one
// transaction under the lock of the deployment's cluster.
type State struct {
	Deployment Deployment
	// Observed is the row of the deployment's object; where there are several,
	// the one that Prevailing picks. Nil: the cluster has none.
	Observed *DeploymentStatus
	// Instances holds at least the newest written instance and those of tasks
	// whose flow has not ended.
	Instances []Instance
	// Tasks are in order of creation. They hold at least: every task whose flow
	// has not ended or that has an unfinished step, the task that rolled out the
	// newest written instance, the delete task whose request was recorded last
	// (the one of the highest RecordSequence, which need not be the newest), and
	// of all these the tasks above and below.
	Tasks Tasks
}

// Receipt is how a report arrived.
type Receipt struct {
	// At is when the server received the report, by its own clock.
	At time.Time
	// SentAt is the agent's clock when it sent the report.
	SentAt time.Time
	// Complete: the report holds all objects of its kind. Only a complete one
	// counts as the last report.
	Complete bool
}

// ApplyReport applies the report of the deployment's object: the row, the
// deployment's status (R5) and the operator-phase steps (R6 to R10). pods gives
// the deployment's stored pods; it is called only when an error names them.
//
// A report that says the object is unchanged is applied as well, with the
// stored row: what a report means depends on the tasks too.
func (s *State) ApplyReport(observed DeploymentStatus, pods func() []PodStatus, receipt Receipt) {
	observed.LastReportAt = receipt.At
	if !receipt.Complete && s.Observed != nil && s.Observed.UID == observed.UID {
		observed.LastReportAt = s.Observed.LastReportAt
	}
	if receipt.Complete {
		at := receipt.At
		s.Deployment.LastReportAt = &at
	}
	if s.Deployment.ManagedBy == DeploymentManagerCluster {
		s.Deployment.Internal = observed.Internal
	}
	s.Observed = &observed
	s.Deployment.Missing = false
	s.applySteps(observation{&observed, receipt, pods})
	s.applyStatus(&observed, receipt.At)
}

// Prevailing picks the object that speaks for the deployment when a cluster has
// several of it: one whose deletion is not requested wins (R5), and of those the one
// that the server writes, for a copy of it tells nothing of the original. It returns
// nil without objects.
func (d *Deployment) Prevailing(objects []DeploymentStatus) *DeploymentStatus {
	var best *DeploymentStatus
	for i := range objects {
		if best == nil || d.prevails(&objects[i], best) {
			best = &objects[i]
		}
	}
	return best
}

// prevails orders by wanted before deleted, then the server's own before others, then
// by identity so that each report picks the same.
func (d *Deployment) prevails(a, b *DeploymentStatus) bool {
	if gone := a.DeletionRequestedAt != nil; gone != (b.DeletionRequestedAt != nil) {
		return !gone
	}
	if own := d.writes(a); own != d.writes(b) {
		return own
	}
	if a.Namespace != b.Namespace {
		return a.Namespace < b.Namespace
	}
	if a.Name != b.Name {
		return a.Name < b.Name
	}
	return a.UID < b.UID
}

// writes tells whether it is the object that the server writes for the deployment.
func (d *Deployment) writes(object *DeploymentStatus) bool {
	return d.ManagedBy == DeploymentManagerServer && object.Namespace == ObjectNamespace && object.Name == d.objectName()
}
