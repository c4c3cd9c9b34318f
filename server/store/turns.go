// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"sync"

	"github.com/uptrace/bun"
)

// turns lets the use cases of a cluster come one after another, in the order in
// which they came. They would wait for each other in the database as well, but
// there each of them holds a connection, and those of one busy cluster would hold
// all.
type turns struct {
	mu    sync.Mutex
	lines map[string]*line
}

// line is who waits for one cluster, and whose turn it is.
type line struct {
	// turn holds one token while it is someone's turn.
	turn chan struct{}
	// length counts all who wait, and the one whose turn it is.
	length int
}

func newTurns() *turns { return &turns{lines: map[string]*line{}} }

// take waits for a turn, which lasts until done is called. The error is why the
// context has ended before that.
func (t *turns) take(ctx context.Context, clusterID string) (done func(), err error) {
	l := t.join(clusterID)
	select {
	case l.turn <- struct{}{}:
		return func() {
			<-l.turn
			t.leave(clusterID, l)
		}, nil
	case <-ctx.Done():
		t.leave(clusterID, l)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) join(clusterID string) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[clusterID]
	if l == nil {
		l = &line{turn: make(chan struct{}, 1)}
		t.lines[clusterID] = l
	}
	l.length++
	return l
}

func (t *turns) leave(clusterID string, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.length--; l.length == 0 {
		delete(t.lines, clusterID)
	}
}

// writeIn runs a use case that changes a cluster, or what belongs to it, in one
// transaction under the cluster's lock, so that several servers agree. An unknown
// cluster is NOT_FOUND.
func (s *Store) writeIn(ctx context.Context, useCase, clusterID string, do func(context.Context, bun.Tx, *clusterRow) error) error {
	return s.observed(useCase, func() error {
		done, err := s.turns.take(ctx, clusterID)
		if err != nil {
			return err
		}
		defer done()
		return s.tryWrite(ctx, func(ctx context.Context, tx bun.Tx) error {
			row, err := s.lockCluster(ctx, tx, clusterID)
			if err != nil {
				return err
			}
			return do(ctx, tx, row)
		})
	})
}
