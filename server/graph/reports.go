// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"time"

	"github.com/styrmin/styrmin/server"
)

// OpenReportSession starts a reporting session.
func (r mutationResolver) OpenReportSession(ctx context.Context, input OpenReportSessionInput) (*ReportSession, error) {
	caller := callerOf(ctx)
	clusterID := caller.ClusterID
	if input.ClusterID != nil {
		clusterID = *input.ClusterID
	}
	if clusterID == "" {
		return nil, server.InvalidInput("input.clusterId", "is needed: the token belongs to no cluster")
	}
	session, err := r.Store.OpenSession(ctx, caller, server.OpenSession{
		ClusterID: clusterID, ClusterUID: input.ClusterUID, AgentID: input.AgentID, AgentVersion: input.AgentVersion,
	})
	if err != nil {
		return nil, err
	}
	r.Log.Info("Opened a report session", "session", session.ID, "cluster", session.ClusterID,
		"agent", session.AgentID, "agentVersion", session.AgentVersion)
	return &ReportSession{
		ID:              session.ID,
		ClusterID:       session.ClusterID,
		IntervalSeconds: int(r.ReportInterval / time.Second),
		ServerTime:      session.OpenedAt,
	}, nil
}

type receiptKey struct{}

// withReceipt keeps when a request began to be read, which is when the reports
// that it brings came in (R3).
func withReceipt(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, receiptKey{}, at)
}

// received returns the header of a report with the time of its receipt.
func received(ctx context.Context, header server.ReportHeader) server.ReportHeader {
	header.ReceivedAt, _ = ctx.Value(receiptKey{}).(time.Time)
	return header
}

// ReportPodStatuses applies the pods of a snapshot.
func (r mutationResolver) ReportPodStatuses(
	ctx context.Context, report server.ReportHeader, namespaces []server.NamespacePods,
) (*server.PodReportResult, error) {
	started := r.Now()
	result, err := r.Store.ApplyPodReport(ctx, callerOf(ctx), server.PodReport{Header: received(ctx, report), Namespaces: namespaces})
	r.Metrics.report(server.ReportKindPods, r.Now().Sub(started), err, reportCounts{
		applied: result.Applied, upserted: result.Upserted, deleted: result.Deleted,
		rejected: len(result.Rejected), resend: len(result.Resend),
	})
	r.logRejected(server.ReportKindPods, report, result.Rejected)
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// ReportDeploymentStatuses applies the StyrminDeployments of a snapshot.
func (r mutationResolver) ReportDeploymentStatuses(
	ctx context.Context, report server.ReportHeader, digest *string, deployments []server.DeploymentStatus,
) (*server.DeploymentReportResult, error) {
	started := r.Now()
	result, err := r.Store.ApplyDeploymentReport(ctx, callerOf(ctx),
		server.DeploymentReport{Header: received(ctx, report), Digest: digest, Deployments: deployments})
	counts := reportCounts{
		applied: result.Applied, upserted: result.Upserted, deleted: result.Deleted, rejected: len(result.Rejected),
	}
	if result.Resend {
		counts.resend = 1
	}
	r.Metrics.report(server.ReportKindDeployments, r.Now().Sub(started), err, counts)
	r.logRejected(server.ReportKindDeployments, report, result.Rejected)
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// logRejected names one of the rejected rows: an agent that sends bad rows sends
// them with each report.
func (r mutationResolver) logRejected(kind server.ReportKind, report server.ReportHeader, rejected []server.RejectedRow) {
	if len(rejected) == 0 {
		return
	}
	r.Log.Info("Rejected rows of a report", "kind", kind, "session", report.SessionID, "rows", len(rejected),
		"namespace", rejected[0].Namespace, "name", rejected[0].Name, "reason", rejected[0].Reason)
}
