// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
	"time"
)

// TokensService manages the tokens of people and scripts. It needs an admin's.
type TokensService struct{ client *Client }

// TokenRole is what a token allows.
type TokenRole string

// The roles of tokens.
const (
	// RoleViewer reads everything but tokens.
	RoleViewer TokenRole = "VIEWER"
	// RoleAdmin does everything.
	RoleAdmin TokenRole = "ADMIN"
)

// Token is a token without its secret, which the server does not know.
type Token struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Role      TokenRole `json:"role"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// NewToken is a token with its secret, which is told this once.
type NewToken struct {
	Token  Token  `json:"token"`
	Secret string `json:"secret"`
}

// List returns all tokens.
func (s *TokensService) List(ctx context.Context) ([]Token, error) {
	answer, err := retry(ctx, s.client, func(ctx context.Context) (*listTokensResponse, error) {
		return listTokens(ctx, s.client.graphql)
	})
	if err != nil {
		return nil, fmt.Errorf("listing tokens: %w", err)
	}
	return answer.Tokens, nil
}

// Create makes a token. It is not tried again, since a repeat would be another
// token.
func (s *TokensService) Create(ctx context.Context, name string, role TokenRole) (*NewToken, error) {
	answer, err := createToken(ctx, s.client.graphql, name, role)
	if err != nil {
		return nil, fmt.Errorf("creating token %s: %w", name, err)
	}
	return &answer.CreateToken, nil
}

// Revoke ends a token at once. One that does not exist is ErrNotFound.
func (s *TokensService) Revoke(ctx context.Context, id string) error {
	if _, err := revokeToken(ctx, s.client.graphql, id); err != nil {
		return fmt.Errorf("revoking token %s: %w", id, err)
	}
	return nil
}
