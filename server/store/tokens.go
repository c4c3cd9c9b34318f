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

// revokedTokenRow is what is kept of a token that was revoked.
type revokedTokenRow struct {
	bun.BaseModel `bun:"table:revoked_tokens,alias:r"`

	SecretHash string `bun:",pk"`
	RevokedAt  time.Time
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

// TakeAdminToken makes the secret that of an admin token, unless it is one
// already. One that was revoked stays revoked: taken is false then.
func (s *Store) TakeAdminToken(ctx context.Context, name, secret string) (taken bool, err error) {
	row := s.adminToken(name, secret)
	err = s.write(ctx, "take admin token", func(ctx context.Context, tx bun.Tx) error {
		if err := s.lockTokens(ctx, tx); err != nil {
			return err
		}
		revoked, err := tx.NewSelect().Model((*revokedTokenRow)(nil)).Where("secret_hash = ?", row.SecretHash).Exists(ctx)
		if err != nil {
			return fmt.Errorf("looking for revoked tokens: %w", err)
		}
		if taken = !revoked; revoked {
			// A server of the version before, which knows of no revoked tokens, may have
			// taken it.
			_, err := tx.NewDelete().Model((*tokenRow)(nil)).Where("secret_hash = ?", row.SecretHash).Exec(ctx)
			return err
		}
		_, err = tx.NewInsert().Model(row).On("CONFLICT (secret_hash) DO NOTHING").Exec(ctx)
		return err
	})
	return taken, err
}

// FirstAdminToken makes an admin token of the secret that newSecret returns, where
// there is none yet; else it returns an empty secret. Of servers that start at
// once, one makes it.
func (s *Store) FirstAdminToken(ctx context.Context, name string, newSecret func() (string, error)) (secret string, err error) {
	err = s.write(ctx, "first admin token", func(ctx context.Context, tx bun.Tx) error {
		secret = ""
		if err := s.lockTokens(ctx, tx); err != nil {
			return err
		}
		exists, err := tx.NewSelect().Model((*tokenRow)(nil)).Where("role = ?", server.RoleAdmin).Exists(ctx)
		if err != nil || exists {
			return err
		}
		if secret, err = newSecret(); err != nil {
			return err
		}
		_, err = tx.NewInsert().Model(s.adminToken(name, secret)).Exec(ctx)
		return err
	})
	return secret, err
}

func (s *Store) adminToken(name, secret string) *tokenRow {
	return &tokenRow{
		ID: newID(), Name: name, Role: server.RoleAdmin,
		SecretHash: server.HashSecret(secret), CreatedAt: s.clock(),
	}
}

// lockTokens keeps others from adding and revoking tokens until the transaction
// ends.
func (s *Store) lockTokens(ctx context.Context, tx bun.Tx) error {
	statement := s.dialect.lockTable("tokens")
	if statement == "" {
		return nil
	}
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("locking the tokens: %w", err)
	}
	return nil
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

// RevokeToken deletes a viewer's or an admin's token, for good. An unknown one is
// NOT_FOUND, the last admin's token a CONFLICT: no one could make another.
func (s *Store) RevokeToken(ctx context.Context, id string) error {
	return s.write(ctx, "revoke token", func(ctx context.Context, tx bun.Tx) error {
		// Two calls must not revoke the last two.
		if err := s.lockTokens(ctx, tx); err != nil {
			return err
		}
		row := new(tokenRow)
		err := tx.NewSelect().Model(row).Where("id = ?", id).Where("cluster_id IS NULL").Scan(ctx)
		if err != nil {
			return found(err, "token", id)
		}
		admins, err := tx.NewSelect().Model((*tokenRow)(nil)).Where("role = ?", server.RoleAdmin).Count(ctx)
		if err != nil {
			return fmt.Errorf("counting the admin tokens: %w", err)
		}
		if row.Role == server.RoleAdmin && admins == 1 {
			return &server.Error{Code: server.CodeConflict, Field: "tokenId", Message: "this is the last admin token: create another one first"}
		}
		// It is noted already where a server of the version before took it again.
		note := &revokedTokenRow{SecretHash: row.SecretHash, RevokedAt: s.clock()}
		if _, err := tx.NewInsert().Model(note).On("CONFLICT (secret_hash) DO NOTHING").Exec(ctx); err != nil {
			return fmt.Errorf("noting the token as revoked: %w", err)
		}
		if _, err := tx.NewDelete().Model(row).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("deleting the token: %w", err)
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
