// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// ReportKind tells the two halves of a snapshot apart. Each is fenced on its own (R2).
type ReportKind string

// The kinds of reports.
const (
	ReportKindPods        ReportKind = "pods"
	ReportKindDeployments ReportKind = "deployments"
)

// ReportHeader is what both halves of one snapshot carry.
type ReportHeader struct {
	SessionID string
	// Sequence grows by one with each snapshot of the session.
	Sequence int64
	// ObservedAt is the time up to which the data is proven current, by the
	// agent's clock.
	ObservedAt time.Time
	// SentAt is the agent's clock when it sent the report (R3).
	SentAt time.Time
	// Complete tells that all objects of the kind were read. Without it no row is
	// deleted and the last-report time does not move (R1).
	Complete bool
	// ReceivedAt is when the request that brought the report began to be read, by
	// the server's clock (R3): what the report waits for after that makes it no
	// newer. Zero: when it reached the store.
	ReceivedAt time.Time
}

// DataAge is how old the data was when it was sent. Both times are of the
// agent's clock, so skew does not matter. Never negative.
func (h ReportHeader) DataAge() time.Duration {
	return max(0, h.SentAt.Sub(h.ObservedAt))
}

// NamespacePods is what a report says about the pods of a namespace.
type NamespacePods struct {
	Namespace string
	// Digest names the namespace's whole state after the report; opaque.
	Digest string
	// Base is the acknowledged digest that Pods and Gone are changes to. Nil:
	// Pods is the whole namespace.
	Base *string
	// Pods without Base are the whole namespace; nil then means that it is
	// unchanged since Digest.
	Pods []PodStatus
	// Gone are the UIDs of pods that are gone since Base.
	Gone []string
}

// PodReport is one half of a snapshot.
type PodReport struct {
	Header     ReportHeader
	Namespaces []NamespacePods
}

// DeploymentReport is the other half of a snapshot.
type DeploymentReport struct {
	Header ReportHeader
	// Digest names the whole state of all StyrminDeployments; opaque. Nil: the
	// agent sends them each time.
	Digest *string
	// Deployments nil: unchanged since Digest.
	Deployments []DeploymentStatus
}

// RejectedRow is a row of a report that could not be kept; the others were (R15).
type RejectedRow struct {
	Namespace string
	Name      string
	Reason    string
}

// PodReportResult answers a PodReport.
type PodReportResult struct {
	// Sequence is the newest sequence of the session that was applied.
	Sequence int64
	// Applied is false when the report was not newer than that: nothing changed.
	Applied  bool
	Upserted int
	Deleted  int
	Rejected []RejectedRow
	// Resend names the namespaces whose pods are wanted in full next time.
	Resend []string
}

// DeploymentReportResult answers a DeploymentReport.
type DeploymentReportResult struct {
	Sequence int64
	Applied  bool
	Upserted int
	Deleted  int
	Rejected []RejectedRow
	// Resend: the stored digest is another one; nothing changed.
	Resend bool
}
