// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"time"

	"github.com/styrmin/styrmin/server"
)

// Store is what the page reads and changes. Its refusals are *server.Error.
type Store interface {
	// SignIn opens a session for the token that has the secret and returns the
	// session's own secret.
	SignIn(ctx context.Context, tokenSecret string, lifetime time.Duration) (string, error)
	// SignedIn returns the token of a session; UNAUTHENTICATED: the session is over.
	SignedIn(ctx context.Context, session string) (server.Token, error)
	SignOut(ctx context.Context, session string) error

	Clusters(ctx context.Context) ([]server.Cluster, error)
	// AgentSessions returns the clusters' own sessions and those opened after
	// since, newest first.
	AgentSessions(ctx context.Context, since time.Time) ([]server.Session, error)
	// DeploymentSummaries returns the deleted deployments, or all others.
	DeploymentSummaries(ctx context.Context, deleted bool) ([]server.DeploymentSummary, error)
	DeploymentView(ctx context.Context, id string, pods, tasks int) (*server.DeploymentView, error)
	TaskView(ctx context.Context, id string) (server.Deployment, server.Tasks, error)

	// RequestChange makes the task of a change; nil: nothing changes.
	RequestChange(ctx context.Context, caller server.Identity, deploymentID string, change server.Change, key *string) (*server.Task, error)
}
