// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Role says what a caller may do; server/graph holds the table.
type Role string

// The roles of callers.
const (
	// RoleAnonymous is a caller without a token. It exists only where the server
	// allows anonymous reports.
	RoleAnonymous Role = "ANONYMOUS"
	// RoleAgent belongs to one cluster, reports it and runs its flows.
	RoleAgent Role = "AGENT"
	// RoleViewer reads everything but tokens.
	RoleViewer Role = "VIEWER"
	// RoleAdmin reads and changes everything.
	RoleAdmin Role = "ADMIN"
)

// Token is a bearer token without its secret, of which only the hash is kept.
type Token struct {
	ID   string
	Name string
	Role Role
	// ClusterID is set for agent tokens alone.
	ClusterID *string
	CreatedAt time.Time
}

// Identity is who calls.
type Identity struct {
	Role Role
	// TokenID is empty for an anonymous caller.
	TokenID string
	// ClusterID is the one cluster of an agent token, else empty.
	ClusterID string
}

// Identity returns the caller that holds the token.
func (t Token) Identity() Identity {
	identity := Identity{Role: t.Role, TokenID: t.ID}
	if t.ClusterID != nil {
		identity.ClusterID = *t.ClusterID
	}
	return identity
}

// CheckCluster refuses a caller that belongs to another cluster.
func (i Identity) CheckCluster(clusterID string) error {
	if i.Role == RoleAgent && i.ClusterID != clusterID {
		return Errorf(CodeForbidden, "the token belongs to another cluster")
	}
	return nil
}

// secretPrefix lets people and secret scanners recognise a token.
const secretPrefix = "styrmin_"

const secretBytes = 32

// NewSecret makes the secret of a token from the system's random source.
func NewSecret() string {
	random := make([]byte, secretBytes)
	rand.Read(random) // never fails: it ends the program where the system has no randomness
	return secretPrefix + base64.RawURLEncoding.EncodeToString(random)
}

// HashSecret returns what is kept of a secret. The secrets are random and long,
// so a plain hash without a salt cannot be turned back.
func HashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// minSecretLength refuses secrets of people's choice that can be guessed.
const minSecretLength = 20

// CheckSecret refuses a secret that someone else chose and that is no good one:
// too short, or with characters that cannot travel in a header.
func CheckSecret(secret string) error {
	if len(secret) < minSecretLength {
		return fmt.Errorf("the token has %d characters, at least %d are needed", len(secret), minSecretLength)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("the token holds spaces, line breaks or characters that cannot travel in a header")
	}
	return nil
}
