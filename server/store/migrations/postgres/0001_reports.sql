-- Copyright 2026 The Styrmin Authors.
-- SPDX-License-Identifier: Apache-2.0

-- What agents report: clusters, their sessions and tokens, the observed rows,
-- and the deployments that the rows are about.

-- +goose Up
CREATE TABLE clusters (
    id                 TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name               TEXT COLLATE "C" NOT NULL UNIQUE,
    uid                TEXT COLLATE "C" UNIQUE,
    agent_id           TEXT COLLATE "C",
    agent_version      TEXT COLLATE "C",
    session_id         TEXT COLLATE "C",
    created_at         TIMESTAMPTZ NOT NULL,
    last_report_at     TIMESTAMPTZ,
    data_age_seconds   DOUBLE PRECISION,
    deployments_digest TEXT COLLATE "C"
);

CREATE TABLE sessions (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    cluster_id          TEXT COLLATE "C" NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    agent_id            TEXT COLLATE "C" NOT NULL,
    agent_version       TEXT COLLATE "C" NOT NULL,
    opened_at           TIMESTAMPTZ NOT NULL,
    pod_sequence        BIGINT NOT NULL,
    deployment_sequence BIGINT NOT NULL
);
CREATE INDEX sessions_cluster ON sessions (cluster_id, opened_at);

CREATE TABLE tokens (
    id          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name        TEXT COLLATE "C" NOT NULL,
    role        TEXT COLLATE "C" NOT NULL,
    cluster_id  TEXT COLLATE "C" REFERENCES clusters (id) ON DELETE CASCADE,
    secret_hash TEXT COLLATE "C" NOT NULL UNIQUE,
    created_at  TIMESTAMPTZ NOT NULL
);
CREATE INDEX tokens_cluster ON tokens (cluster_id);

-- Every namespace that has pod rows is here; a null digest was forgotten (R1).
CREATE TABLE pod_namespaces (
    cluster_id TEXT COLLATE "C" NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace  TEXT COLLATE "C" NOT NULL,
    digest     TEXT COLLATE "C",
    PRIMARY KEY (cluster_id, namespace)
);

CREATE TABLE pod_statuses (
    cluster_id            TEXT COLLATE "C" NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace             TEXT COLLATE "C" NOT NULL,
    name                  TEXT COLLATE "C" NOT NULL,
    uid                   TEXT COLLATE "C" NOT NULL,
    fingerprint           TEXT COLLATE "C" NOT NULL,
    deployment_id         TEXT COLLATE "C",
    node                  TEXT COLLATE "C",
    phase                 TEXT COLLATE "C" NOT NULL,
    status                TEXT COLLATE "C" NOT NULL,
    message               TEXT COLLATE "C",
    ready                 BOOLEAN NOT NULL,
    ready_containers      BIGINT NOT NULL,
    total_containers      BIGINT NOT NULL,
    restarts              BIGINT NOT NULL,
    created_at            TIMESTAMPTZ NOT NULL,
    started_at            TIMESTAMPTZ,
    deletion_requested_at TIMESTAMPTZ,
    owner_kind            TEXT COLLATE "C",
    owner_name            TEXT COLLATE "C",
    component             TEXT COLLATE "C",
    containers            JSON NOT NULL,
    changed_at            TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (cluster_id, namespace, name)
);
CREATE INDEX pod_statuses_uid ON pod_statuses (cluster_id, namespace, uid);
CREATE INDEX pod_statuses_deployment ON pod_statuses (deployment_id, cluster_id, namespace, name);

CREATE TABLE deployments (
    id                    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    cluster_id            TEXT COLLATE "C" NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    name                  TEXT COLLATE "C" NOT NULL,
    environment           TEXT COLLATE "C",
    internal              BOOLEAN NOT NULL,
    managed_by            TEXT COLLATE "C" NOT NULL,
    version               TEXT COLLATE "C",
    status                TEXT COLLATE "C" NOT NULL,
    status_message        TEXT COLLATE "C",
    status_since          TIMESTAMPTZ NOT NULL,
    created_at            TIMESTAMPTZ NOT NULL,
    last_report_at        TIMESTAMPTZ,
    written_instance_id   TEXT COLLATE "C",
    written_at            TIMESTAMPTZ,
    deletion_requested_at TIMESTAMPTZ,
    missing               BOOLEAN NOT NULL
);
CREATE INDEX deployments_cluster ON deployments (cluster_id, name);

CREATE TABLE deployment_statuses (
    cluster_id            TEXT COLLATE "C" NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    namespace             TEXT COLLATE "C" NOT NULL,
    name                  TEXT COLLATE "C" NOT NULL,
    uid                   TEXT COLLATE "C" NOT NULL,
    deployment_id         TEXT COLLATE "C" NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    instance_id           TEXT COLLATE "C" NOT NULL,
    instance_source       TEXT COLLATE "C" NOT NULL,
    generation            BIGINT NOT NULL,
    observed_generation   BIGINT,
    internal              BOOLEAN NOT NULL,
    target_namespace      TEXT COLLATE "C",
    phase                 TEXT COLLATE "C" NOT NULL,
    display_state         TEXT COLLATE "C" NOT NULL,
    message               TEXT COLLATE "C",
    conditions            JSON NOT NULL,
    components            JSON NOT NULL,
    deletion_requested_at TIMESTAMPTZ,
    last_report_at        TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (cluster_id, namespace, name)
);
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
