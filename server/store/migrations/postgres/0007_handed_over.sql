-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- A worker that ends in good order hands its task over, and is not lost (W3).

-- +goose Up
ALTER TABLE tasks ADD COLUMN handed_over BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE tasks DROP COLUMN handed_over;
