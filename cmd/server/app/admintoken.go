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
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// firstTokenName is the name of the admin token that the server makes itself.
const firstTokenName = "first-admin"

// ensureAdminToken makes sure that someone can administer the server: with the
// token of the file, or without one with a token that is printed once. A token
// is made only where the server has no admin token yet.
func ensureAdminToken(ctx context.Context, db *store.Store, file string, log logr.Logger, out io.Writer) error {
	if file != "" {
		if err := useTokenFile(ctx, db, file, log); err != nil {
			return fmt.Errorf("--admin-token-file: %w", err)
		}
		return nil
	}
	secret, err := db.FirstAdminToken(ctx, firstTokenName, func() (string, error) { return server.NewSecret(), nil })
	if err != nil || secret == "" {
		return err
	}
	_, err = fmt.Fprintf(out, "The first admin token, shown this once:\n\n  %s\n\n", secret)
	return err
}

// useTokenFile makes the file's token an admin token, whichever the server has
// already, but not one that was revoked. A file that does not exist is made with
// the first admin token.
func useTokenFile(ctx context.Context, db *store.Store, path string, log logr.Logger) error {
	secret, err := readTokenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret, err = db.FirstAdminToken(ctx, firstTokenName, func() (string, error) { return newTokenFile(path) })
		if err == nil && secret == "" {
			log.Info("The file of --admin-token-file does not exist and is not made: the server has an admin token", "path", path)
		}
		return err
	}
	if err != nil {
		return err
	}
	taken, err := db.TakeAdminToken(ctx, firstTokenName, secret)
	if err == nil && !taken {
		log.Info("WARNING: the token of --admin-token-file was revoked and stays so: put another one there", "path", path)
	}
	return err
}

func readTokenFile(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // The operator of the server names the file.
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if err := server.CheckSecret(secret); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return secret, nil
}

// newTokenFile makes the file with a new token, for the eyes of its owner alone.
// The file appears with all that it holds: a server that is ended before that
// makes it at its next start, and one that is ended after it reads it.
func newTokenFile(path string) (string, error) {
	secret := server.NewSecret()
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(file, secret)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("writing %s: %w", path, err), os.Remove(file.Name()))
	}
	return secret, nil
}
