// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestMigrationsTakeAsLongAsTheyTake: a timeout that no statement of them keeps is
// that of the use cases alone.
func TestMigrationsTakeAsLongAsTheyTake(t *testing.T) {
	s := storetest.Open(t, storetest.Postgres(t)+"&statement_timeout=1", storetest.NewClock())
	err := s.Write(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.ExecContext(ctx, "SELECT pg_sleep(1)")
		return err
	})
	if err == nil {
		t.Error("a use case has no timeout")
	}
}

func TestEachStatementOfAUseCaseEnds(t *testing.T) {
	s := storetest.Open(t, storetest.Postgres(t), storetest.NewClock())
	var timeout string
	err := s.Write(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw("SHOW statement_timeout").Scan(ctx, &timeout)
	})
	if err != nil || timeout != "1min" {
		t.Errorf("the timeout is %q, %v", timeout, err)
	}
}
