// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// firstTokenName is the name of the admin token that the server makes itself.
const firstTokenName = "first-admin"

// ensureAdminToken makes sure that someone can administer the server: with the
// token of the file, or without one with a token that is printed once.
func ensureAdminToken(ctx context.Context, db *store.Store, file string, out io.Writer) error {
	if file != "" {
		secret, err := tokenFromFile(file)
		if err != nil {
			return fmt.Errorf("--admin-token-file: %w", err)
		}
		return db.EnsureAdminToken(ctx, firstTokenName, secret)
	}
	exists, err := db.HasAdminToken(ctx)
	if err != nil || exists {
		return err
	}
	_, secret, err := db.CreateToken(ctx, firstTokenName, server.RoleAdmin)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "The first admin token, shown this once:\n\n  %s\n\n", secret)
	return err
}

// tokenFromFile reads the token of the file. A file that does not exist is made,
// for the eyes of its owner alone.
func tokenFromFile(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // The operator of the server names the file.
	if errors.Is(err, fs.ErrNotExist) {
		return newTokenFile(path)
	}
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if err := server.CheckSecret(secret); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return secret, nil
}

func newTokenFile(path string) (string, error) {
	//nolint:gosec // The operator of the server names the file.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	secret := server.NewSecret()
	_, err = fmt.Fprintln(file, secret)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	return secret, nil
}
