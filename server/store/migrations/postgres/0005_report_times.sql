-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- Pods and StyrminDeployments are reported apart, so each has a last report.

-- +goose Up
ALTER TABLE clusters RENAME COLUMN last_report_at TO pods_report_at;
ALTER TABLE clusters RENAME COLUMN data_age_seconds TO pods_data_age_seconds;
ALTER TABLE clusters ADD COLUMN deployments_report_at TIMESTAMPTZ;
ALTER TABLE clusters ADD COLUMN deployments_data_age_seconds DOUBLE PRECISION;
UPDATE clusters SET deployments_report_at = pods_report_at, deployments_data_age_seconds = pods_data_age_seconds;

-- +goose Down
ALTER TABLE clusters DROP COLUMN deployments_data_age_seconds;
ALTER TABLE clusters DROP COLUMN deployments_report_at;
ALTER TABLE clusters RENAME COLUMN pods_data_age_seconds TO data_age_seconds;
ALTER TABLE clusters RENAME COLUMN pods_report_at TO last_report_at;
