-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- What the server declares: instances, and the tasks that roll them out with
-- their steps and the attempts of these.

-- +goose Up
CREATE TABLE instances (
    id            TEXT NOT NULL PRIMARY KEY,
    deployment_id TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    created_at    TEXT NOT NULL,
    version       TEXT,
    spec          TEXT NOT NULL
) STRICT;
CREATE INDEX instances_deployment ON instances (deployment_id);

-- position is the order of creation within the deployment. unsettled tasks can
-- still be changed by reports and calls: their flow or a step has not ended.
-- result follows from the task and those below it; it is kept to be counted.
CREATE TABLE tasks (
    id               TEXT NOT NULL PRIMARY KEY,
    deployment_id    TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    position         INTEGER NOT NULL,
    kind             TEXT NOT NULL,
    change           TEXT NOT NULL,
    instance_id      TEXT UNIQUE,
    parent_task_id   TEXT REFERENCES tasks (id) ON DELETE CASCADE,
    hook_step_id     TEXT,
    status           TEXT NOT NULL,
    result           TEXT NOT NULL,
    message          TEXT,
    record_sequence  INTEGER NOT NULL,
    superseded       INTEGER NOT NULL,
    unsettled        INTEGER NOT NULL,
    created_at       TEXT NOT NULL,
    started_at       TEXT,
    finished_at      TEXT,
    worker_id        TEXT,
    lease_expires_at TEXT,
    lost_leases      INTEGER NOT NULL,
    UNIQUE (deployment_id, position)
) STRICT;
CREATE INDEX tasks_parent ON tasks (parent_task_id);
CREATE INDEX tasks_records ON tasks (deployment_id, kind, record_sequence);
CREATE INDEX tasks_unsettled ON tasks (deployment_id) WHERE unsettled;
CREATE INDEX tasks_flows ON tasks (deployment_id) WHERE finished_at IS NULL;

CREATE TABLE steps (
    id       TEXT NOT NULL PRIMARY KEY,
    task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    kind     TEXT NOT NULL,
    status   TEXT NOT NULL,
    hook     TEXT,
    UNIQUE (task_id, position)
) STRICT;

CREATE TABLE attempts (
    step_id    TEXT NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    status     TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    error      TEXT,
    PRIMARY KEY (step_id, number)
) STRICT;

-- The calls of the last day that carried an idempotency key. A call that changed
-- nothing has no task.
CREATE TABLE idempotency_keys (
    token_id    TEXT NOT NULL,
    target      TEXT NOT NULL,
    key         TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    task_id     TEXT REFERENCES tasks (id) ON DELETE CASCADE,
    created_at  TEXT NOT NULL,
    PRIMARY KEY (token_id, target, key)
) STRICT;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_task ON idempotency_keys (task_id);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE attempts;
DROP TABLE steps;
DROP TABLE tasks;
DROP TABLE instances;
