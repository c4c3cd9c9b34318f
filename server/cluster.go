// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"time"
)

// Cluster is a Kubernetes cluster that an agent reports.
type Cluster struct {
	ID   string
	Name string
	// UID is that of the cluster's kube-system namespace; nil until an agent has
	// opened a session.
	UID          *string
	AgentID      *string
	AgentVersion *string
	// SessionID is the session whose reports count. Nil: none was opened yet.
	SessionID *string
	CreatedAt time.Time
	// LastReportAt is when the last complete report was received, by the server's
	// clock (R3): of pods or of StyrminDeployments, whichever is the older.
	LastReportAt *time.Time
	// DataAgeSeconds is how old the data of that report was when it was sent.
	DataAgeSeconds *float64
	// Pods and Deployments count the observed rows.
	Pods        int
	Deployments int
}

// KindReport is the last complete report of one kind of objects.
type KindReport struct {
	// At is when it was received, by the server's clock. Nil: none was.
	At *time.Time
	// DataAgeSeconds is how old its data was when it was sent.
	DataAgeSeconds *float64
}

// provenAt is until when the data is proven current, by the server's clock.
func (r KindReport) provenAt() time.Time {
	if r.DataAgeSeconds == nil {
		return *r.At
	}
	return r.At.Add(-time.Duration(*r.DataAgeSeconds * float64(time.Second)))
}

// LastReport is that of the last complete reports of both kinds whose data is the
// older. They are judged apart (P3), and a cluster is known as of its older half:
// one that is silent must not look fresh because the other is not.
func LastReport(pods, deployments KindReport) KindReport {
	switch {
	case pods.At == nil || deployments.At == nil:
		return KindReport{}
	case deployments.provenAt().Before(pods.provenAt()):
		return deployments
	}
	return pods
}

// SilentSince is from when on nothing is known of the cluster, should no report
// follow: its last report, or where one half was never reported, the time when it
// was created. Nil: no agent has ever come, so nobody is silent.
func (c *Cluster) SilentSince() *time.Time {
	if c.LastReportAt == nil && c.AgentID != nil {
		return &c.CreatedAt
	}
	return c.LastReportAt
}

// Session is a reporting session: the fence that keeps reports of a stopped or
// second agent, and reports that were overtaken, from changing anything (R2).
type Session struct {
	ID           string
	ClusterID    string
	AgentID      string
	AgentVersion string
	OpenedAt     time.Time
	// PodSequence and DeploymentSequence are the newest that were applied,
	// NoSequence before the first.
	PodSequence        int64
	DeploymentSequence int64
}

// NoSequence stands before the first applied sequence of a session.
const NoSequence int64 = -1

// Sequence returns the newest applied sequence of a kind.
func (s *Session) Sequence(kind ReportKind) int64 {
	if kind == ReportKindPods {
		return s.PodSequence
	}
	return s.DeploymentSequence
}

// Advance takes a sequence of a kind if it is newer than what was applied, and
// tells whether it was (R2). The order never comes from a clock.
func (s *Session) Advance(kind ReportKind, sequence int64) bool {
	if sequence <= s.Sequence(kind) {
		return false
	}
	if kind == ReportKindPods {
		s.PodSequence = sequence
	} else {
		s.DeploymentSequence = sequence
	}
	return true
}

// Admit tells whether the caller may report to the cluster in the session: it
// must be the session's own cluster (R14), and the cluster's newest session (R2).
func (s *Session) Admit(caller Identity, cluster Cluster) error {
	if err := caller.CheckCluster(s.ClusterID); err != nil {
		return err
	}
	if cluster.SessionID == nil || *cluster.SessionID != s.ID {
		return &Error{Code: CodeSessionSuperseded, Field: sessionField, Message: fmt.Sprintf(
			"session %s of agent %s was superseded by a later session of cluster %s", s.ID, s.AgentID, cluster.Name)}
	}
	return nil
}

// CheckUID refuses an agent of another Kubernetes cluster: two clusters that
// report as one would delete each other's rows for ever.
func (c *Cluster) CheckUID(uid string) error {
	if c.UID == nil || *c.UID == uid {
		return nil
	}
	return ClusterMismatch("cluster %s is known with the UID %s, the agent reports from %s: create a cluster of its own for it",
		c.Name, *c.UID, uid)
}

// sessionField names the session in both kinds of reports.
const sessionField = "report.sessionId"

// SessionUnknown refuses a report in a session that was never opened, or was
// forgotten.
func SessionUnknown(id string) error {
	return &Error{Code: CodeSessionUnknown, Field: sessionField, Message: "there is no session " + id + ": open a new one"}
}

// ClusterMismatch refuses a session of another Kubernetes cluster.
func ClusterMismatch(format string, args ...any) error {
	return &Error{Code: CodeClusterMismatch, Field: "input.clusterUid", Message: fmt.Sprintf(format, args...)}
}

// OpenSession is what an agent says of itself when it opens a session.
type OpenSession struct {
	ClusterID string
	// ClusterUID is that of the cluster's kube-system namespace.
	ClusterUID   string
	AgentID      string
	AgentVersion string
}

// Clean returns what is stored of it (R15).
func (o OpenSession) Clean() OpenSession {
	o.ClusterUID = CleanText(o.ClusterUID, MaxNameBytes)
	o.AgentID = CleanText(o.AgentID, MaxNameBytes)
	o.AgentVersion = CleanText(o.AgentVersion, MaxNameBytes)
	return o
}

// Validate refuses a session that cannot be told from others, naming the field.
func (o OpenSession) Validate() error {
	if o.ClusterUID == "" {
		return InvalidInput("input.clusterUid", "the UID of the kube-system namespace is needed")
	}
	return nil
}
