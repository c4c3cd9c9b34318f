-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- The hashes of revoked tokens: a file that still holds one does not bring it
-- back.

-- +goose Up
CREATE TABLE revoked_tokens (
    secret_hash TEXT NOT NULL PRIMARY KEY,
    revoked_at  TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE revoked_tokens;
