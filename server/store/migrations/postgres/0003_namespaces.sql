-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- The namespace that a deployment of the server claims for its pods.

-- +goose Up
ALTER TABLE deployments ADD COLUMN target_namespace TEXT COLLATE "C";
CREATE INDEX deployments_target ON deployments (cluster_id, target_namespace);

-- +goose Down
DROP INDEX deployments_target;
ALTER TABLE deployments DROP COLUMN target_namespace;
