// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/styrmin/styrmin/server/store"
)

// pruneInterval is how often what is old is removed.
const pruneInterval = time.Hour

// keepPruned removes what is old now and with each tick, until the context ends.
// What fails is tried again with the next tick.
func keepPruned(ctx context.Context, db *store.Store, log logr.Logger, tick <-chan time.Time) {
	for {
		switch pruned, err := db.Prune(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error(err, "Failed to remove what is old")
		case pruned != store.Pruned{}:
			log.Info("Removed what is old", "deployments", pruned.Deployments, "tasks", pruned.Tasks, "instances", pruned.Instances)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}
