// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"sync"
	"testing"

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
