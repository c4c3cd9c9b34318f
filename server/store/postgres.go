// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Writers have few connections of their own: more at once would only wait for
// each other's processors, and keep readers waiting, too.
const (
	maxPostgresWriters = 6
	maxPostgresReaders = 12
	maxConnIdle        = 5 * time.Minute
)

const statementTimeout = "statement_timeout"

func (s *Store) openPostgres(url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// The driver's own error repeats the URL; it hides the password of a
		// well-formed one only.
		return errors.New("the PostgreSQL URL cannot be read: it is postgres://USER:PASSWORD@HOST:PORT/NAME?sslmode=…")
	}
	// The query layer writes values into the statement, so no two are equal and
	// preparing them would only fill the server's cache.
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	for name, value := range map[string]string{
		"application_name":                    "styrmin-server",
		"timezone":                            "UTC",
		"standard_conforming_strings":         "on",
		statementTimeout:                      "60000",
		"idle_in_transaction_session_timeout": "60000",
	} {
		if _, given := config.RuntimeParams[name]; !given {
			config.RuntimeParams[name] = value
		}
	}
	pool := func(size int) *bun.DB {
		db := sql.OpenDB(stdlib.GetConnector(*config))
		db.SetMaxOpenConns(size)
		db.SetMaxIdleConns(size)
		db.SetConnMaxIdleTime(maxConnIdle)
		return bun.NewDB(db, pgdialect.New())
	}
	s.writer, s.reader = pool(maxPostgresWriters), pool(maxPostgresReaders)
	migrating := config.Copy()
	migrating.RuntimeParams[statementTimeout] = "0"
	s.dialect = postgresDialect{migrating: migrating}
	return nil
}

type postgresDialect struct {
	// migrating is the configuration of the connection that migrates, whose
	// statements take as long as they take: they may rewrite a large table.
	migrating *pgx.ConnConfig
}

func (postgresDialect) forUpdate() string { return "UPDATE" }

func (postgresDialect) lockTable(table string) string {
	return "LOCK TABLE " + table + " IN SHARE ROW EXCLUSIVE MODE"
}

// The errors by which PostgreSQL ends a transaction that another one crossed. A
// unique violation is one of them: each use case looks for the row that it would
// store twice, so it has met one that was stored after it looked, and that it sees
// when it runs again.
const (
	pgSerializationFailure = "40001"
	pgDeadlockDetected     = "40P01"
	pgUniqueViolation      = "23505"
)

func (postgresDialect) retryable(err error) bool {
	var failed *pgconn.PgError
	return errors.As(err, &failed) &&
		slices.Contains([]string{pgSerializationFailure, pgDeadlockDetected, pgUniqueViolation}, failed.Code)
}

// A server that finds another one migrating looks again each second, for five
// minutes.
const (
	lockRetrySeconds = 1
	lockTries        = 300
)

// migrate runs the migrations under an advisory lock, so that of two servers
// that start at once one waits for the other.
func (d postgresDialect) migrate(ctx context.Context, _ *sql.DB) (err error) {
	db := sql.OpenDB(stdlib.GetConnector(*d.migrating))
	defer func() { err = errors.Join(err, db.Close()) }()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockRetrySeconds, lockTries))
	if err != nil {
		return fmt.Errorf("making the migration lock: %w", err)
	}
	return runMigrations(ctx, goose.DialectPostgres, db, "migrations/postgres", goose.WithSessionLocker(locker))
}
