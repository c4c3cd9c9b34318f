// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// ObjectKey names a StyrminDeployment of a cluster.
type ObjectKey struct{ Namespace, Name string }

// Key names the object.
func (d *DeploymentStatus) Key() ObjectKey { return ObjectKey{d.Namespace, d.Name} }

// DeploymentRows are the observed StyrminDeployments of a cluster after a report.
type DeploymentRows struct {
	// Upserts are new, or not as their row is.
	Upserts []DeploymentStatus
	// Deletes are the rows whose objects are gone.
	Deletes []DeploymentStatus
	// Reported are the deployments that the report is about, with all their rows.
	// Unchanged ones are among them: what a report means depends on the tasks too.
	Reported map[string][]DeploymentStatus
	// Unread are rows that stay as they are, their last-report time included: the
	// report holds their objects, but in a form that cannot be kept (R15).
	Unread   []DeploymentStatus
	Rejected []RejectedRow

	// present are further deployments that have an object in the report; anyone:
	// any may have one.
	present map[string]bool
	anyone  bool
}

// Absent tells whether a complete report shows that the deployment has no object.
func (rows *DeploymentRows) Absent(deploymentID string) bool {
	return rows.Reported[deploymentID] == nil && !rows.present[deploymentID] && !rows.anyone
}

// Settled tells whether the report can say nothing new of the deployment: it
// runs, by the very rows that the report leaves. Only its last-report time
// moves.
func (rows *DeploymentRows) Settled(deployment *Deployment) bool {
	return deployment.Status == DeploymentRunning && !deployment.Missing &&
		len(rows.Reported[deployment.ID]) > 0 && !rows.changes(deployment.ID)
}

// changes tells whether a row of the deployment is written or deleted.
func (rows *DeploymentRows) changes(deploymentID string) bool {
	return slices.ContainsFunc(rows.Upserts, func(s DeploymentStatus) bool { return s.DeploymentID == deploymentID }) ||
		slices.ContainsFunc(rows.Deletes, func(s DeploymentStatus) bool { return s.DeploymentID == deploymentID })
}

// Clean returns the report as it is stored (R15).
func (r DeploymentReport) Clean(clusterID string) DeploymentReport {
	r.Digest = cleanOptional(r.Digest, MaxNameBytes)
	if r.Deployments == nil {
		return r
	}
	clean := make([]DeploymentStatus, len(r.Deployments))
	for i, status := range r.Deployments {
		clean[i] = CleanDeploymentStatus(status)
		clean[i].ClusterID = clusterID
	}
	r.Deployments = clean
	return r
}

// Validate refuses a report that contradicts itself, naming the field.
func (r *DeploymentReport) Validate() error {
	if r.Deployments == nil && r.Digest == nil {
		return InvalidInput("digest", "is needed where deployments is null")
	}
	return r.Header.validate()
}

// Matches tells whether a report without deployments is about what is stored.
func (r *DeploymentReport) Matches(storedDigest *string) bool {
	return r.Deployments != nil || storedDigest != nil && *storedDigest == *r.Digest
}

// Apply decides which rows change (R1). foreign are the ids among the reported
// deployments that belong to other clusters: their rows are rejected (R14).
func (r *DeploymentReport) Apply(stored []DeploymentStatus, foreign map[string]bool) (DeploymentRows, error) {
	if r.Deployments == nil {
		return DeploymentRows{Reported: ByDeployment(stored)}, nil
	}
	before := make(map[ObjectKey]*DeploymentStatus, len(stored))
	for i := range stored {
		before[stored[i].Key()] = &stored[i]
	}
	var rows DeploymentRows
	var unread unreadable
	kept := make(map[ObjectKey]bool, len(r.Deployments))
	after := make([]DeploymentStatus, 0, len(r.Deployments))
	for _, status := range r.Deployments {
		key := status.Key()
		if reason := whyObjectIsRejected(&status, kept[key], foreign); reason != "" {
			rows.Rejected = append(rows.Rejected, RejectedRow{Namespace: status.Namespace, Name: status.Name, Reason: reason})
			unread = append(unread, status)
			continue
		}
		kept[key] = true
		after = append(after, status)
		same, err := sameObject(before[key], &status)
		if err != nil {
			return DeploymentRows{}, err
		}
		if !same {
			rows.Upserts = append(rows.Upserts, status)
		}
	}
	rows.Reported = ByDeployment(after)
	rows.present, rows.anyone = unread.owners(stored)
	for i := range stored {
		if !kept[stored[i].Key()] {
			rows.missing(stored[i], r.Header.Complete, unread)
		}
	}
	return rows, nil
}

// missing decides what becomes of a row whose object the report does not hold, or
// not in a form that can be read.
func (rows *DeploymentRows) missing(row DeploymentStatus, complete bool, unread unreadable) {
	switch {
	case !complete:
		rows.alsoSpeaks(row)
	case unread.mayHold(&row):
		rows.Unread = append(rows.Unread, row)
		rows.present[row.DeploymentID] = true
		rows.alsoSpeaks(row)
	default:
		rows.Deletes = append(rows.Deletes, row)
	}
}

// ByDeployment groups objects by the deployment that they are of.
func ByDeployment(statuses []DeploymentStatus) map[string][]DeploymentStatus {
	groups := map[string][]DeploymentStatus{}
	for _, status := range statuses {
		groups[status.DeploymentID] = append(groups[status.DeploymentID], status)
	}
	return groups
}

// alsoSpeaks adds a row that the report leaves as it is to the deployment that
// the report is about, so that the report does not decide which of the
// objects prevails by what it happens to hold.
func (rows *DeploymentRows) alsoSpeaks(status DeploymentStatus) {
	if group, reported := rows.Reported[status.DeploymentID]; reported {
		rows.Reported[status.DeploymentID] = append(group, status)
	}
}

func whyObjectIsRejected(status *DeploymentStatus, again bool, foreign map[string]bool) string {
	switch {
	case status.Name == "":
		return "the StyrminDeployment has no name"
	case status.Namespace == "":
		return "the StyrminDeployment has no namespace"
	case status.UID == "":
		return "the StyrminDeployment has no uid"
	case status.DeploymentID == "":
		return "the StyrminDeployment has no deployment id"
	case foreign[status.DeploymentID]:
		return "the deployment belongs to another cluster"
	case again:
		return "the report holds another StyrminDeployment of this name"
	}
	return ""
}

// sameObject compares what was reported of an object.
func sameObject(before, after *DeploymentStatus) (bool, error) {
	if before == nil {
		return false, nil
	}
	var text [2][]byte
	for i, status := range []DeploymentStatus{CleanDeploymentStatus(*before), *after} {
		status.LastReportAt = minTime
		var err error
		if text[i], err = json.Marshal(status); err != nil {
			return false, fmt.Errorf("comparing StyrminDeployment %s/%s: %w", status.Namespace, status.Name, err)
		}
	}
	return bytes.Equal(text[0], text[1]), nil
}

// After returns the rows that are stored once the changes are made.
func (rows *DeploymentRows) After(stored []DeploymentStatus) []DeploymentStatus {
	gone := make(map[ObjectKey]bool, len(rows.Deletes)+len(rows.Upserts))
	for i := range rows.Deletes {
		gone[rows.Deletes[i].Key()] = true
	}
	for i := range rows.Upserts {
		gone[rows.Upserts[i].Key()] = true
	}
	after := slices.DeleteFunc(slices.Clone(stored), func(status DeploymentStatus) bool { return gone[status.Key()] })
	return append(after, rows.Upserts...)
}
