-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- How long a worker claimed its task for: a shorter renewal hands the task over
-- (W3). 0 where a server of an earlier version gave the task.

-- +goose Up
ALTER TABLE tasks ADD COLUMN claim_seconds INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE tasks DROP COLUMN claim_seconds;
