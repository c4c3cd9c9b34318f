// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"time"

	"github.com/go-logr/logr"

	"github.com/styrmin/styrmin/server/store"
)

// Resolver answers the fields of the schema.
type Resolver struct {
	Store *store.Store
	// Version is the server's own.
	Version string
	// ReportInterval is how often the server wants reports; zero: as often as each
	// agent is configured.
	ReportInterval time.Duration
	// ReportTimeout is the age of a deployment's last report from which a step
	// that the operator works on says so (R12).
	ReportTimeout time.Duration
	// Now is the server's clock.
	Now     func() time.Time
	Log     logr.Logger
	Metrics *Metrics
}

var _ ResolverRoot = (*Resolver)(nil)

type (
	queryResolver      struct{ *Resolver }
	mutationResolver   struct{ *Resolver }
	deploymentResolver struct{ *Resolver }
)

// Query answers reads.
func (r *Resolver) Query() QueryResolver { return queryResolver{r} }

// Mutation answers calls that change something.
func (r *Resolver) Mutation() MutationResolver { return mutationResolver{r} }

// Deployment answers what a deployment's row does not hold.
func (r *Resolver) Deployment() DeploymentResolver { return deploymentResolver{r} }
