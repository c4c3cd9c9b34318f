-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- What the server declares: instances, and the tasks that roll them out with
-- their steps and the attempts of these.

-- +goose Up
CREATE TABLE instances (
    id            TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    deployment_id TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    created_at    TIMESTAMPTZ NOT NULL,
    version       TEXT COLLATE "C",
    spec          JSON NOT NULL
);
CREATE INDEX instances_deployment ON instances (deployment_id);

-- position is the order of creation within the deployment. unsettled tasks can
-- still be changed by reports and calls: their flow or a step has not ended.
-- result follows from the task and those below it; it is kept to be counted.
CREATE TABLE tasks (
    id               TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    deployment_id    TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    position         BIGINT NOT NULL,
    kind             TEXT COLLATE "C" NOT NULL,
    change           JSON NOT NULL,
    instance_id      TEXT COLLATE "C" UNIQUE,
    parent_task_id   TEXT COLLATE "C" REFERENCES tasks (id) ON DELETE CASCADE,
    hook_step_id     TEXT COLLATE "C",
    status           TEXT COLLATE "C" NOT NULL,
    result           TEXT COLLATE "C" NOT NULL,
    message          TEXT COLLATE "C",
    record_sequence  BIGINT NOT NULL,
    superseded       BOOLEAN NOT NULL,
    unsettled        BOOLEAN NOT NULL,
    created_at       TIMESTAMPTZ NOT NULL,
    started_at       TIMESTAMPTZ,
    finished_at      TIMESTAMPTZ,
    worker_id        TEXT COLLATE "C",
    lease_expires_at TIMESTAMPTZ,
    lost_leases      BIGINT NOT NULL,
    UNIQUE (deployment_id, position)
);
CREATE INDEX tasks_parent ON tasks (parent_task_id);
CREATE INDEX tasks_records ON tasks (deployment_id, kind, record_sequence);
CREATE INDEX tasks_unsettled ON tasks (deployment_id) WHERE unsettled;
CREATE INDEX tasks_flows ON tasks (deployment_id) WHERE finished_at IS NULL;

CREATE TABLE steps (
    id       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    task_id  TEXT COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    name     TEXT COLLATE "C" NOT NULL,
    kind     TEXT COLLATE "C" NOT NULL,
    status   TEXT COLLATE "C" NOT NULL,
    hook     JSON,
    UNIQUE (task_id, position)
);

CREATE TABLE attempts (
    step_id    TEXT COLLATE "C" NOT NULL REFERENCES steps (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    ended_at   TIMESTAMPTZ,
    error      TEXT COLLATE "C",
    PRIMARY KEY (step_id, number)
);

-- The calls of the last day that carried an idempotency key. A call that changed
-- nothing has no task.
CREATE TABLE idempotency_keys (
    token_id    TEXT COLLATE "C" NOT NULL,
    target      TEXT COLLATE "C" NOT NULL,
    key         TEXT COLLATE "C" NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    task_id     TEXT COLLATE "C" REFERENCES tasks (id) ON DELETE CASCADE,
    created_at  TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (token_id, target, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_task ON idempotency_keys (task_id);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE attempts;
DROP TABLE steps;
DROP TABLE tasks;
DROP TABLE instances;
