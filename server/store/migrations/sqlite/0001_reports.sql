-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- What agents report: clusters, their sessions and tokens, the observed rows,
-- and the deployments that the rows are about.

-- +goose Up
CREATE TABLE clusters (
    id                 TEXT NOT NULL PRIMARY KEY,
    name               TEXT NOT NULL UNIQUE,
    uid                TEXT UNIQUE,
    agent_id           TEXT,
    agent_version      TEXT,
    session_id         TEXT,
    created_at         TEXT NOT NULL,
    last_report_at     TEXT,
    data_age_seconds   REAL,
    deployments_digest TEXT
) STRICT;

CREATE TABLE sessions (
    id                  TEXT NOT NULL PRIMARY KEY,
    cluster_id          TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    agent_id            TEXT NOT NULL,
    agent_version       TEXT NOT NULL,
    opened_at           TEXT NOT NULL,
    pod_sequence        INTEGER NOT NULL,
    deployment_sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_cluster ON sessions (cluster_id, opened_at);

CREATE TABLE tokens (
    id          TEXT NOT NULL PRIMARY KEY,
    name        TEXT NOT NULL,
    role        TEXT NOT NULL,
    cluster_id  TEXT REFERENCES clusters (id) ON DELETE CASCADE,
    secret_hash TEXT NOT NULL UNIQUE,
    created_at  TEXT NOT NULL
) STRICT;
CREATE INDEX tokens_cluster ON tokens (cluster_id);

-- Every namespace that has pod rows is here; a null digest was forgotten (R1).
CREATE TABLE pod_namespaces (
    cluster_id TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace  TEXT NOT NULL,
    digest     TEXT,
    PRIMARY KEY (cluster_id, namespace)
) STRICT;

CREATE TABLE pod_statuses (
    cluster_id            TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace             TEXT NOT NULL,
    name                  TEXT NOT NULL,
    uid                   TEXT NOT NULL,
    fingerprint           TEXT NOT NULL,
    deployment_id         TEXT,
    node                  TEXT,
    phase                 TEXT NOT NULL,
    status                TEXT NOT NULL,
    message               TEXT,
    ready                 INTEGER NOT NULL,
    ready_containers      INTEGER NOT NULL,
    total_containers      INTEGER NOT NULL,
    restarts              INTEGER NOT NULL,
    created_at            TEXT NOT NULL,
    started_at            TEXT,
    deletion_requested_at TEXT,
    owner_kind            TEXT,
    owner_name            TEXT,
    component             TEXT,
    containers            TEXT NOT NULL,
    changed_at            TEXT NOT NULL,
    PRIMARY KEY (cluster_id, namespace, name)
) STRICT;
CREATE INDEX pod_statuses_uid ON pod_statuses (cluster_id, namespace, uid);
CREATE INDEX pod_statuses_deployment ON pod_statuses (deployment_id, cluster_id, namespace, name);

CREATE TABLE deployments (
    id                    TEXT NOT NULL PRIMARY KEY,
    cluster_id            TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    name                  TEXT NOT NULL,
    environment           TEXT,
    internal              INTEGER NOT NULL,
    managed_by            TEXT NOT NULL,
    version               TEXT,
    status                TEXT NOT NULL,
    status_message        TEXT,
    status_since          TEXT NOT NULL,
    created_at            TEXT NOT NULL,
    last_report_at        TEXT,
    written_instance_id   TEXT,
    written_at            TEXT,
    deletion_requested_at TEXT,
    missing               INTEGER NOT NULL
) STRICT;
CREATE INDEX deployments_cluster ON deployments (cluster_id, name);

CREATE TABLE deployment_statuses (
    cluster_id            TEXT NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace             TEXT NOT NULL,
    name                  TEXT NOT NULL,
    uid                   TEXT NOT NULL,
    deployment_id         TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    instance_id           TEXT NOT NULL,
    instance_source       TEXT NOT NULL,
    generation            INTEGER NOT NULL,
    observed_generation   INTEGER,
    internal              INTEGER NOT NULL,
    target_namespace      TEXT,
    phase                 TEXT NOT NULL,
    display_state         TEXT NOT NULL,
    message               TEXT,
    conditions            TEXT NOT NULL,
    components            TEXT NOT NULL,
    deletion_requested_at TEXT,
    last_report_at        TEXT NOT NULL,
    PRIMARY KEY (cluster_id, namespace, name)
) STRICT;
CREATE INDEX deployment_statuses_deployment ON deployment_statuses (deployment_id);
CREATE INDEX deployment_statuses_target ON deployment_statuses (cluster_id, target_namespace);

-- +goose Down
DROP TABLE deployment_statuses;
DROP TABLE deployments;
DROP TABLE pod_statuses;
DROP TABLE pod_namespaces;
DROP TABLE tokens;
DROP TABLE sessions;
DROP TABLE clusters;
