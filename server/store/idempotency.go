// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

const (
	// keyAge is how long a repeat of a call returns the first call's task.
	keyAge = 24 * time.Hour
	// maxKeyBytes bounds a key.
	maxKeyBytes = 255
)

type idempotencyRow struct {
	bun.BaseModel `bun:"table:idempotency_keys,alias:k"`

	TokenID     string
	Target      string
	Key         string
	Fingerprint string
	TaskID      *string
	CreatedAt   time.Time
}

// idempotentCall is a call that a client may repeat because it did not learn
// how the first one ended.
type idempotentCall struct {
	caller server.Identity
	// target is the call and what it is about: a key counts for one target of one
	// token.
	target string
	// key nil: each call is one of its own.
	key *string
	// arguments are all that the call asks for. Others under the same key are a
	// mistake of the client.
	arguments any
	at        time.Time
}

// once makes the task, or returns the one that the first call of the key made.
func (c idempotentCall) once(ctx context.Context, tx bun.Tx, do func() (*server.Task, error)) (*server.Task, error) {
	if c.key == nil {
		return do()
	}
	if *c.key == "" || len(*c.key) > maxKeyBytes {
		return nil, server.InvalidInput("idempotencyKey", "must have from 1 to %d bytes", maxKeyBytes)
	}
	text, err := json.Marshal(c.arguments)
	if err != nil {
		return nil, fmt.Errorf("encoding the call: %w", err)
	}
	sum := sha256.Sum256(text)
	fingerprint := hex.EncodeToString(sum[:])
	first := new(idempotencyRow)
	err = tx.NewSelect().Model(first).
		Where("token_id = ?", c.caller.TokenID).Where("target = ?", c.target).Where("key = ?", *c.key).
		Where("created_at > ?", c.at.Add(-keyAge)).Scan(ctx)
	switch {
	case err == nil && first.Fingerprint != fingerprint:
		return nil, &server.Error{Code: server.CodeConflict, Field: "idempotencyKey", Message: "was used for a call with other arguments"}
	case err == nil && first.TaskID == nil:
		return nil, nil
	case err == nil:
		return readTask(ctx, tx, *first.TaskID)
	case !isMissing(err):
		return nil, fmt.Errorf("reading the idempotency key: %w", err)
	}
	task, err := do()
	if err != nil {
		return nil, err
	}
	return task, c.remember(ctx, tx, fingerprint, task)
}

func (c idempotentCall) remember(ctx context.Context, tx bun.Tx, fingerprint string, task *server.Task) error {
	_, err := tx.NewDelete().Model((*idempotencyRow)(nil)).Where("created_at <= ?", c.at.Add(-keyAge)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("deleting old idempotency keys: %w", err)
	}
	row := idempotencyRow{
		TokenID: c.caller.TokenID, Target: c.target, Key: *c.key, Fingerprint: fingerprint, CreatedAt: c.at,
	}
	if task != nil {
		row.TaskID = &task.ID
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("storing the idempotency key: %w", err)
	}
	return nil
}

func readTask(ctx context.Context, db bun.IDB, id string) (*server.Task, error) {
	var rows []taskRow
	if err := selectTasks(db, &rows).Where("t.id = ?", id).Scan(ctx); err != nil {
		return nil, fmt.Errorf("reading task %s: %w", id, err)
	}
	if len(rows) == 0 {
		return nil, server.NotFound("task", id)
	}
	tasks, err := whole(ctx, db, rows)
	if err != nil {
		return nil, err
	}
	return &tasks[0], nil
}
