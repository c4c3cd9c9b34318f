// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const sqlitePrefix = "sqlite:"

// openSQLite opens a file. Pragmas belong to a connection, so they travel in the
// name that each connection is opened by.
func (s *Store) openSQLite(path string) error {
	if path == "" {
		return errors.New("sqlite: needs the path of a file")
	}
	// What it holds is not for every user of the machine.
	//nolint:gosec // The operator of the server names the file.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("making %s: %w", path, err)
	}
	writer, err := sql.Open("sqlite", sqliteName(path, "_txlock=immediate"))
	if err != nil {
		return fmt.Errorf("opening %s: %w", path, err)
	}
	// SQLite has one writer at a time: waiting for the connection is cheaper than
	// for the file's lock, and fair.
	writer.SetMaxOpenConns(1)
	reader, err := sql.Open("sqlite", sqliteName(path, "_pragma=query_only(1)"))
	if err != nil {
		return errors.Join(fmt.Errorf("opening %s: %w", path, err), writer.Close())
	}
	reader.SetMaxOpenConns(max(4, runtime.NumCPU()))
	s.writer = bun.NewDB(writer, sqlitedialect.New())
	s.reader = bun.NewDB(reader, sqlitedialect.New())
	s.dialect = sqliteDialect{}
	return nil
}

func sqliteName(path, extra string) string {
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	name.RawQuery = "_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=foreign_keys(1)&_pragma=temp_store(MEMORY)&" + extra // The image has no folder for temporary files.
	return name.String()
}

type sqliteDialect struct{}

// A writing transaction takes the file's one write lock when it begins.
func (sqliteDialect) forUpdate() string { return "" }

func (sqliteDialect) lockTable(string) string { return "" }

func (sqliteDialect) retryable(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == sqlite3.SQLITE_BUSY
}

// migrateTries bounds how often a migration is tried that another process may
// have run at the same moment.
const (
	migrateTries = 20
	migratePause = 100 * time.Millisecond
)

// migrate runs the migrations, each in its transaction. There is no lock to hold
// across them, so the one of two processes that comes second fails, finds
// nothing left to do when it looks again, and goes on.
func (sqliteDialect) migrate(ctx context.Context, db *sql.DB) error {
	for try := 1; ; try++ {
		err := runMigrations(ctx, goose.DialectSQLite3, db, "migrations/sqlite")
		if err == nil || try == migrateTries {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(migratePause):
		}
	}
}
