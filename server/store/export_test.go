// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"github.com/uptrace/bun"
)

// Write runs a use case as those of the store do.
func (s *Store) Write(ctx context.Context, do func(context.Context, bun.Tx) error) error {
	return s.write(ctx, "test", do)
}

// LockCluster takes the lock under which a cluster's use cases run.
func (s *Store) LockCluster(ctx context.Context, tx bun.Tx, id string) error {
	_, err := s.lockCluster(ctx, tx, id)
	return err
}
