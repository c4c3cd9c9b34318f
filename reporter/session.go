// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Khan/genqlient/graphql"
	"k8s.io/utils/clock"

	"github.com/styrmin/styrmin/internal/serverclient"
)

// session is a reporting session. The server takes reports of the newest
// session of a cluster only, and of a session only reports with a sequence
// above the last (P4).
type session struct {
	client graphql.Client
	clock  clock.PassiveClock
	id     string
	// interval is what the server asks for; not above zero: it asks for nothing.
	interval time.Duration
	sequence int64
}

// errBadAnswer is an answer that is no refusal and does not say either that the
// server did what was asked (P5).
var errBadAnswer = errors.New("the answer does not confirm the request")

// Codes of the contract that the reporter treats each in its own way.
const (
	codeSessionUnknown    = "SESSION_UNKNOWN"
	codeSessionSuperseded = "SESSION_SUPERSEDED"
	codeClusterMismatch   = "CLUSTER_MISMATCH"
	codeTooLarge          = serverclient.CodeTooLarge
	codeInternal          = "INTERNAL"
)

// maxIntervalSeconds is the longest interval that the server can ask for.
const maxIntervalSeconds = 300

// openSession starts a session, which ends the one before.
func openSession(ctx context.Context, client graphql.Client, clock clock.PassiveClock, input OpenReportSessionInput) (*session, error) {
	response, err := OpenReportSession(ctx, client, input)
	if err != nil {
		return nil, fmt.Errorf("opening a report session: %w", err)
	}
	opened := response.OpenReportSession
	if opened.Id == "" {
		return nil, fmt.Errorf("opening a report session: %w", errBadAnswer)
	}
	return &session{
		client:   client,
		clock:    clock,
		id:       opened.Id,
		interval: time.Duration(min(opened.IntervalSeconds, maxIntervalSeconds)) * time.Second,
	}, nil
}

// next begins a snapshot: both of its halves go under one sequence.
func (s *session) next() {
	s.sequence++
}

func (s *session) header(observedAt time.Time) ReportHeader {
	// To the server the data is as old as its two times are apart.
	sentAt, age := s.clock.Now().Round(0), ageOf(s.clock, observedAt)
	return ReportHeader{
		SessionId:  s.id,
		Sequence:   s.sequence,
		ObservedAt: sentAt.Add(-age).UTC().Truncate(time.Millisecond),
		SentAt:     sentAt.UTC().Truncate(time.Millisecond),
		Complete:   true,
	}
}

// reportPods sends the pods of a snapshot that is proven up to observedAt. An
// answer that does not echo the sequence is an error.
func (s *session) reportPods(ctx context.Context, observedAt time.Time, namespaces []namespaceReport) (*PodReportResult, error) {
	response := &ReportPodStatusesResponse{}
	err := s.client.MakeRequest(ctx, &graphql.Request{
		OpName:    "ReportPodStatuses",
		Query:     ReportPodStatuses_Operation,
		Variables: &podVariables{report: s.header(observedAt), namespaces: namespaces},
	}, &graphql.Response{Data: response})
	result := &response.ReportPodStatuses
	if err == nil {
		err = s.confirm(result.Sequence, result.Applied)
	}
	if err != nil {
		return nil, fmt.Errorf("reporting pods: %w", err)
	}
	return result, nil
}

// reportDeployments sends the deployments of a snapshot that is proven up to
// observedAt: nil rows where the digest is the acknowledged one.
func (s *session) reportDeployments(ctx context.Context, observedAt time.Time, digest string, rows []DeploymentStatusInput) (*DeploymentReportResult, error) {
	response, err := ReportDeploymentStatuses(ctx, s.client, s.header(observedAt), &digest, rows)
	if err == nil {
		err = s.confirm(response.ReportDeploymentStatuses.Sequence, response.ReportDeploymentStatuses.Applied)
	}
	if err != nil {
		return nil, fmt.Errorf("reporting deployments: %w", err)
	}
	return &response.ReportDeploymentStatuses, nil
}

// confirm judges the echo of a report.
func (s *session) confirm(sequence int64, applied bool) error {
	if sequence != s.sequence {
		return fmt.Errorf("%w: sent sequence %d, the echo is %d", errBadAnswer, s.sequence, sequence)
	}
	if !applied {
		return fmt.Errorf("%w: sequence %d was not applied", errBadAnswer, sequence)
	}
	return nil
}
