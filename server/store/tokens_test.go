// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"sync"
	"testing"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
)

func TestARevokedTokenIsNotTakenAgain(t *testing.T) {
	onEach(t, func(w *world) {
		const secret = "the-token-of-a-file-0001"
		_, _, err := w.store.CreateToken(w.Context(), "other", server.RoleAdmin)
		w.must(err)
		take := func() bool {
			taken, err := w.store.TakeAdminToken(w.Context(), "first", secret)
			w.must(err)
			return taken
		}
		w.want("whether it is taken", true, take())
		w.want("whether it is taken at the next start", true, take())
		caller, err := w.store.Identify(w.Context(), secret)
		w.must(err)
		w.must(w.store.RevokeToken(w.Context(), caller.TokenID))
		w.want("whether it is taken once it is revoked", false, take())
		_, err = w.store.Identify(w.Context(), secret)
		w.wantCode(err, server.CodeUnauthenticated)
	})
}

// TestARevokedTokenThatAnEarlierServerTookIsRevokedAgain: the version before knows
// of no revoked tokens, and takes the one of its file at its start.
func TestARevokedTokenThatAnEarlierServerTookIsRevokedAgain(t *testing.T) {
	const secret = "the-token-of-a-file-0001"
	for name, end := range map[string]func(w *world, tokenID string){
		"when someone revokes it": func(w *world, tokenID string) { w.must(w.store.RevokeToken(w.Context(), tokenID)) },
		"when this version starts": func(w *world, _ string) {
			taken, err := w.store.TakeAdminToken(w.Context(), "first", secret)
			w.must(err)
			w.want("whether it is taken", false, taken)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(w *world) {
				_, _, err := w.store.CreateToken(w.Context(), "other", server.RoleAdmin)
				w.must(err)
				_, err = w.store.TakeAdminToken(w.Context(), "first", secret)
				w.must(err)
				caller, err := w.store.Identify(w.Context(), secret)
				w.must(err)
				w.must(w.store.RevokeToken(w.Context(), caller.TokenID))
				w.must(w.store.Write(w.Context(), func(ctx context.Context, tx bun.Tx) error {
					_, err := tx.ExecContext(ctx, "INSERT INTO tokens (id, name, role, secret_hash, created_at) VALUES (?, ?, ?, ?, ?)",
						"taken-again", "first", server.RoleAdmin, server.HashSecret(secret), w.clock.Now())
					return err
				}))
				_, err = w.store.Identify(w.Context(), secret)
				w.must(err)

				end(w, "taken-again")
				_, err = w.store.Identify(w.Context(), secret)
				w.wantCode(err, server.CodeUnauthenticated)
			})
		})
	}
}

func TestTheLastTwoAdminTokensAreNotRevokedAtOnce(t *testing.T) {
	onEach(t, func(w *world) {
		var ids [2]string
		for i := range ids {
			token, _, err := w.store.CreateToken(w.Context(), "admin", server.RoleAdmin)
			w.must(err)
			ids[i] = token.ID
		}
		var failed [2]error
		var ended sync.WaitGroup
		for i := range ids {
			ended.Go(func() { failed[i] = w.store.RevokeToken(w.Context(), ids[i]) })
		}
		ended.Wait()
		if (failed[0] == nil) == (failed[1] == nil) {
			t.Errorf("the calls ended with %v and %v, want one refused", failed[0], failed[1])
		}
		tokens, err := w.store.Tokens(w.Context())
		w.must(err)
		w.want("the tokens that are left", 1, len(tokens))
	})
}
