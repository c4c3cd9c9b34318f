-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- The page: who is signed in, and an index that counts the pods of all
-- deployments.

-- +goose Up
CREATE TABLE web_sessions (
    secret_hash TEXT NOT NULL PRIMARY KEY,
    token_id    TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    created_at  TEXT NOT NULL,
    expires_at  TEXT NOT NULL
) STRICT;
CREATE INDEX web_sessions_token ON web_sessions (token_id);
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);
CREATE INDEX pod_statuses_counts ON pod_statuses (deployment_id, phase, ready);

-- +goose Down
DROP INDEX pod_statuses_counts;
DROP TABLE web_sessions;
