// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

func TestATransactionThatLostAgainstAnotherIsRunAgain(t *testing.T) {
	lost := func(code string) error { return fmt.Errorf("writing: %w", &pgconn.PgError{Code: code}) }
	for name, test := range map[string]struct {
		fails     error
		times     int
		wantTries int
		wantErr   bool
	}{
		"a serialisation failure goes away": {fails: lost("40001"), times: 2, wantTries: 3},
		"a deadlock goes away":              {fails: lost("40P01"), times: 1, wantTries: 2},
		"a deadlock that stays is told":     {fails: lost("40P01"), times: 100, wantTries: maxTries, wantErr: true},
		"what another has stored is seen":   {fails: lost("23505"), times: 1, wantTries: 2},
		"a broken constraint is told":       {fails: lost("23503"), times: 1, wantTries: 1, wantErr: true},
		"any other error is told":           {fails: errors.New("no"), times: 1, wantTries: 1, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			s.dialect = postgresDialect{}
			tries := 0
			err = s.write(t.Context(), "test", func(context.Context, bun.Tx) error {
				if tries++; tries <= test.times {
					return test.fails
				}
				return nil
			})
			if tries != test.wantTries || (err != nil) != test.wantErr {
				t.Errorf("it ran %d times and returned %v", tries, err)
			}
			if test.wantErr && !errors.Is(err, test.fails) {
				t.Errorf("the error %v lost its cause", err)
			}
		})
	}
}
