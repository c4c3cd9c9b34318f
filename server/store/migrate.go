// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// The migrations are the same for both databases but for the names of types.
//
//go:embed migrations
var migrations embed.FS

func runMigrations(ctx context.Context, dialect goose.Dialect, db *sql.DB, dir string, options ...goose.ProviderOption) error {
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		return fmt.Errorf("reading %s: %w", dir, err)
	}
	options = append(options, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	provider, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return fmt.Errorf("preparing the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("running the migrations: %w", err)
	}
	return nil
}
