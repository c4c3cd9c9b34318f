// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"strings"

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

// Waiting counts the use cases of a cluster that wait for their turn, or have it.
func (s *Store) Waiting(clusterID string) int {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	if l := s.turns.lines[clusterID]; l != nil {
		return l.length
	}
	return 0
}

// TakeTurn waits for a turn, as use cases of a cluster do.
func (s *Store) TakeTurn(clusterID string) (done func()) {
	done, _ = s.turns.take(context.Background(), clusterID)
	return done
}

// AfterEachRead calls do after each statement that reads outside a use case that
// writes.
func (s *Store) AfterEachRead(do func()) { s.reader = s.reader.WithQueryHook(afterRead(do)) }

type afterRead func()

func (afterRead) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (do afterRead) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if strings.HasPrefix(event.Query, "SELECT") {
		do()
	}
}
