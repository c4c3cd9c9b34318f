// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps what the server knows, in SQLite or PostgreSQL, behind
// one query layer. Each method is a use case: one transaction, under one lock
// per cluster where it applies a rule of package server.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// Observer is told how long each use case took in the database, with the wait for
// its turn, and how it ended.
type Observer func(useCase string, elapsed time.Duration, err error)

// Options are what a Store needs beside its database.
type Options struct {
	// Now is the server's clock. Nil: the system's.
	Now func() time.Time
	// Observe is told of each use case. Nil: no one is.
	Observe Observer
}

// Store is the server's memory. It is safe for concurrent use, and several
// servers may share one PostgreSQL database.
type Store struct {
	// writer and reader are pools of connections: reports that come at once wait
	// for each other, not readers for them. SQLite has a single writing connection.
	writer  *bun.DB
	reader  *bun.DB
	dialect dialect
	turns   *turns
	now     func() time.Time
	observe Observer
}

// dialect is what the two databases do differently.
type dialect interface {
	// migrate brings the schema up to date, also while another server does. writer
	// is the pool of the use cases, which it may use.
	migrate(ctx context.Context, writer *sql.DB) error
	// forUpdate is the clause that locks a selected row until the transaction
	// ends; empty where a writing transaction excludes all others.
	forUpdate() string
	// lockTable is the statement that keeps all others from writing to a table
	// until the transaction ends; empty where a writing transaction does.
	lockTable(table string) string
	// retryable tells whether the transaction failed for a reason that goes away
	// by running it again.
	retryable(err error) bool
}

// Open connects to the database that the URL names, sqlite:PATH or
// postgres://…, and brings its schema up to date.
func Open(ctx context.Context, url string, options Options) (*Store, error) {
	s := &Store{turns: newTurns(), now: options.Now, observe: options.Observe}
	if s.now == nil {
		s.now = time.Now
	}
	if s.observe == nil {
		s.observe = func(string, time.Duration, error) {}
	}
	var err error
	switch {
	case strings.HasPrefix(url, sqlitePrefix):
		err = s.openSQLite(strings.TrimPrefix(url, sqlitePrefix))
	case strings.HasPrefix(url, "postgres://"), strings.HasPrefix(url, "postgresql://"):
		err = s.openPostgres(url)
	default:
		err = errors.New("a database is named as sqlite:PATH or postgres://USER@HOST/NAME")
	}
	if err != nil {
		return nil, err
	}
	if err := s.dialect.migrate(ctx, s.writer.DB); err != nil {
		return nil, errors.Join(fmt.Errorf("migrating the database: %w", err), s.Close())
	}
	return s, nil
}

// Close ends all connections.
func (s *Store) Close() error {
	return errors.Join(s.writer.Close(), s.reader.Close())
}

// Ping tells whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.reader.PingContext(ctx); err != nil {
		return fmt.Errorf("reaching the database: %w", err)
	}
	return nil
}

// clock returns the time of receipt as both databases keep it.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// receivedAt is when a report came in (R3).
func (s *Store) receivedAt(header server.ReportHeader) time.Time {
	if header.ReceivedAt.IsZero() {
		return s.clock()
	}
	return header.ReceivedAt.UTC().Truncate(time.Microsecond)
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Transactions that lose against another are run again this often, with a pause
// that doubles from retryPause.
const (
	maxTries   = 6
	retryPause = 10 * time.Millisecond
)

// write runs a use case in one transaction, and again where the database says
// that this helps: do must leave no trace of a failed run.
func (s *Store) write(ctx context.Context, useCase string, do func(context.Context, bun.Tx) error) error {
	return s.observed(useCase, func() error { return s.tryWrite(ctx, do) })
}

func (s *Store) tryWrite(ctx context.Context, do func(context.Context, bun.Tx) error) error {
	pause := retryPause
	for try := 1; ; try++ {
		err := s.writer.RunInTx(ctx, nil, do)
		if err == nil || try == maxTries || !s.dialect.retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// snapshot is a transaction whose statements all see the same moment. SQLite's
// always do, and its driver needs no level.
var snapshot = sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}

// read runs a use case that changes nothing in one transaction, so that what one
// statement finds and another one adds to it belong together.
func (s *Store) read(ctx context.Context, useCase string, do func(context.Context, bun.IDB) error) error {
	return s.observed(useCase, func() error {
		return s.reader.RunInTx(ctx, &snapshot, func(ctx context.Context, tx bun.Tx) error { return do(ctx, tx) })
	})
}

// observed runs a use case and tells the observer of it.
func (s *Store) observed(useCase string, do func() error) error {
	started := time.Now()
	err := do()
	s.observe(useCase, time.Since(started), err)
	return wrap(useCase, err)
}

// wrap says what was being done, except to a refusal, which says it itself.
func wrap(useCase string, err error) error {
	var refusal *server.Error
	if err == nil || errors.As(err, &refusal) {
		return err
	}
	return fmt.Errorf("%s: %w", useCase, err)
}

// found turns a missing row into NOT_FOUND.
func found(err error, what, id string) error {
	if isMissing(err) {
		return server.NotFound(what, id)
	}
	return err
}

func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }
