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

type tokenRow struct {
	bun.BaseModel `bun:"table:tokens,alias:t"`

	ID         string `bun:",pk"`
	Name       string
	Role       server.Role
	ClusterID  *string
	SecretHash string
	CreatedAt  time.Time
}

func (r *tokenRow) token() server.Token {
	return server.Token{ID: r.ID, Name: r.Name, Role: r.Role, ClusterID: r.ClusterID, CreatedAt: r.CreatedAt}
}

// Identify returns the caller whose token has the secret. An unknown secret is
// UNAUTHENTICATED. The hash is looked up, never compared byte by byte: how long
// that takes tells nothing about another token's secret.
func (s *Store) Identify(ctx context.Context, secret string) (server.Identity, error) {
	row := new(tokenRow)
	err := s.read(ctx, "identify", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().Model(row).Where("secret_hash = ?", server.HashSecret(secret)).Scan(ctx)
	})
	if isMissing(err) {
		return server.Identity{}, server.Errorf(server.CodeUnauthenticated, "the token is not known")
	}
	if err != nil {
		return server.Identity{}, err
	}
	return row.token().Identity(), nil
}

// CreateToken adds a viewer's or an admin's token and returns its secret.
func (s *Store) CreateToken(ctx context.Context, name string, role server.Role) (server.Token, string, error) {
	secret := server.NewSecret()
	row := tokenRow{ID: newID(), Name: name, Role: role, SecretHash: server.HashSecret(secret), CreatedAt: s.clock()}
	err := s.write(ctx, "create token", func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
	if err != nil {
		return server.Token{}, "", err
	}
	return row.token(), secret, nil
}

// EnsureAdminToken keeps the secret as an admin token unless it is one already.
func (s *Store) EnsureAdminToken(ctx context.Context, name, secret string) error {
	row := tokenRow{
		ID: newID(), Name: name, Role: server.RoleAdmin,
		SecretHash: server.HashSecret(secret), CreatedAt: s.clock(),
	}
	return s.write(ctx, "ensure admin token", func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewInsert().Model(&row).On("CONFLICT (secret_hash) DO NOTHING").Exec(ctx)
		return err
	})
}

// HasAdminToken tells whether anyone can administer the server.
func (s *Store) HasAdminToken(ctx context.Context) (bool, error) {
	var exists bool
	err := s.read(ctx, "has admin token", func(ctx context.Context, db bun.IDB) error {
		var err error
		exists, err = db.NewSelect().Model((*tokenRow)(nil)).Where("role = ?", server.RoleAdmin).Exists(ctx)
		return err
	})
	return exists, err
}

// Tokens returns the tokens of viewers and admins, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]server.Token, error) {
	var rows []tokenRow
	err := s.read(ctx, "tokens", func(ctx context.Context, db bun.IDB) error {
		return db.NewSelect().Model(&rows).Where("cluster_id IS NULL").Order("created_at", "id").Scan(ctx)
	})
	if err != nil {
		return nil, err
	}
	tokens := make([]server.Token, len(rows))
	for i := range rows {
		tokens[i] = rows[i].token()
	}
	return tokens, nil
}

// RevokeToken deletes a viewer's or an admin's token. An unknown one is
// NOT_FOUND, the last admin's token a CONFLICT: no one could make another.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	return s.write(ctx, "revoke token", func(ctx context.Context, tx bun.Tx) error {
		// All admin tokens are locked, so that two calls do not revoke the last two.
		var admins []tokenRow
		query := tx.NewSelect().Model(&admins).Where("role = ?", server.RoleAdmin).Order("id")
		if clause := s.dialect.forUpdate(); clause != "" {
			query = query.For(clause)
		}
		if err := query.Scan(ctx); err != nil {
			return fmt.Errorf("reading the admin tokens: %w", err)
		}
		if len(admins) == 1 && admins[0].ID == id {
			return &server.Error{Code: server.CodeConflict, Field: "tokenId", Message: "this is the last admin token: create another one first"}
		}
		result, err := tx.NewDelete().Model((*tokenRow)(nil)).
			Where("id = ?", id).Where("cluster_id IS NULL").Exec(ctx)
		if err != nil {
			return fmt.Errorf("deleting the token: %w", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return fmt.Errorf("counting the rows: %w", err)
		}
		if n == 0 {
			return server.NotFound("token", id)
		}
		return nil
	})
}

func insertAgentToken(ctx context.Context, tx bun.Tx, clusterID, secret string, at time.Time) error {
	row := tokenRow{
		ID: newID(), Name: "agent", Role: server.RoleAgent, ClusterID: &clusterID,
		SecretHash: server.HashSecret(secret), CreatedAt: at,
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("inserting the agent token: %w", err)
	}
	return nil
}
