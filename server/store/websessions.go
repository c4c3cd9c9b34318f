// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

// webSessionRow is a signed-in browser. Like a token, a session is kept as a
// hash; it ends with its token.
type webSessionRow struct {
	bun.BaseModel `bun:"table:web_sessions,alias:w"`

	SecretHash string `bun:",pk"`
	TokenID    string
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// SignIn opens a session of the page for the token that has the secret, and
// returns the session's own secret, which is good for the lifetime. An unknown
// token is UNAUTHENTICATED, an agent's FORBIDDEN.
func (s *Store) SignIn(ctx context.Context, tokenSecret string, lifetime time.Duration) (string, error) {
	caller, err := s.Identify(ctx, tokenSecret)
	if err != nil {
		return "", err
	}
	if caller.Role != server.RoleAdmin && caller.Role != server.RoleViewer {
		return "", server.Errorf(server.CodeForbidden, "an agent's token does not open the page: it takes a viewer's or an admin's")
	}
	secret, now := server.NewSecret(), s.clock()
	row := webSessionRow{
		SecretHash: server.HashSecret(secret), TokenID: caller.TokenID, CreatedAt: now, ExpiresAt: now.Add(lifetime),
	}
	err = s.write(ctx, "sign in", func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewDelete().Model((*webSessionRow)(nil)).Where("expires_at <= ?", now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("deleting sessions that are over: %w", err)
		}
		if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
			return fmt.Errorf("inserting the session: %w", err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return secret, nil
}

// SignedIn returns the token that the session was opened with. A session that
// is unknown or over, and one whose token was revoked, is UNAUTHENTICATED.
func (s *Store) SignedIn(ctx context.Context, secret string) (server.Token, error) {
	row := new(tokenRow)
	err := s.read(ctx, "signed in", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().Model(row).Join("JOIN web_sessions AS w ON w.token_id = t.id").
			Where("w.secret_hash = ?", server.HashSecret(secret)).Where("w.expires_at > ?", s.clock()).Scan(ctx)
	})
	if isMissing(err) {
		return server.Token{}, server.Errorf(server.CodeUnauthenticated, "the session is over")
	}
	if err != nil {
		return server.Token{}, err
	}
	return row.token(), nil
}

// SignOut ends the session; one that is over already stays so.
func (s *Store) SignOut(ctx context.Context, secret string) error {
	return s.write(ctx, "sign out", func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewDelete().Model((*webSessionRow)(nil)).
			Where("secret_hash = ?", server.HashSecret(secret)).Exec(ctx)
		return err
	})
}
