// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestTransactionsThatCrossEachOtherBothComeToTheirEnd lets PostgreSQL end one of
// two transactions, for a deadlock, a serialisation failure and a row that the
// other one has stored: it is run again, and its caller does not learn of it.
func TestTransactionsThatCrossEachOtherBothComeToTheirEnd(t *testing.T) {
	for name, test := range map[string]struct {
		isolation string
		// first and second are what a transaction does with its own cluster and
		// then with the other one.
		first, second func(ctx context.Context, s *store.Store, tx bun.Tx, own, other string) error
	}{
		"a deadlock": {
			first: func(ctx context.Context, s *store.Store, tx bun.Tx, own, _ string) error {
				return s.LockCluster(ctx, tx, own)
			},
			second: func(ctx context.Context, s *store.Store, tx bun.Tx, _, other string) error {
				return s.LockCluster(ctx, tx, other)
			},
		},
		"a serialisation failure": {
			isolation: "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
			first: func(ctx context.Context, _ *store.Store, tx bun.Tx, _, other string) error {
				var name string
				return tx.NewRaw("SELECT name FROM clusters WHERE id = ?", other).Scan(ctx, &name)
			},
			second: func(ctx context.Context, _ *store.Store, tx bun.Tx, own, _ string) error {
				_, err := tx.NewRaw("UPDATE clusters SET agent_id = 'x' WHERE id = ?", own).Exec(ctx)
				return err
			},
		},
		"a row that both store": {
			// As both see what was before they met, each finds nothing.
			isolation: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
			first: func(ctx context.Context, _ *store.Store, tx bun.Tx, _, other string) error {
				var name string
				return tx.NewRaw("SELECT name FROM clusters WHERE id = ?", other).Scan(ctx, &name)
			},
			second: func(ctx context.Context, _ *store.Store, tx bun.Tx, own, _ string) error {
				_, err := tx.NewRaw(`INSERT INTO tokens (id, name, role, secret_hash, created_at)
					SELECT ?, 'x', 'VIEWER', 'x', now() WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE secret_hash = 'x')`, own).Exec(ctx)
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.Open(t, storetest.Postgres(t), storetest.NewClock())
			var ids [2]string
			for i, name := range []string{"c1", "c2"} {
				cluster, _, err := s.CreateCluster(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				ids[i] = cluster.ID
			}
			var tries [2]int
			var met [2]sync.Once
			var both, ended sync.WaitGroup
			both.Add(2)
			for i := range 2 {
				ended.Go(func() {
					err := s.Write(t.Context(), func(ctx context.Context, tx bun.Tx) error {
						tries[i]++
						if test.isolation != "" {
							if _, err := tx.NewRaw(test.isolation).Exec(ctx); err != nil {
								return err
							}
						}
						if err := test.first(ctx, s, tx, ids[i], ids[1-i]); err != nil {
							return err
						}
						// The first time, both have begun before either goes on.
						met[i].Do(func() { both.Done(); both.Wait() })
						return test.second(ctx, s, tx, ids[i], ids[1-i])
					})
					if err != nil {
						t.Errorf("transaction %d: %v", i, err)
					}
				})
			}
			ended.Wait()
			if tries[0]+tries[1] < 3 {
				t.Errorf("neither was run again: %v", tries)
			}
		})
	}
}
