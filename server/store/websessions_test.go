// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

func TestAWebSessionLastsUntilSomethingEndsIt(t *testing.T) {
	for name, end := range map[string]func(w *world, session string, token server.Token){
		"its time is over": func(w *world, _ string, _ server.Token) { w.clock.Advance(time.Hour) },
		"its token is revoked": func(w *world, _ string, token server.Token) {
			w.must(w.store.RevokeToken(w.Context(), token.ID))
		},
		"someone signs out": func(w *world, session string, _ server.Token) {
			w.must(w.store.SignOut(w.Context(), session))
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(w *world) {
				token, secret, err := w.store.CreateToken(w.Context(), "wallboard", server.RoleViewer)
				w.must(err)
				session, err := w.store.SignIn(w.Context(), secret, time.Hour)
				w.must(err)
				got, err := w.store.SignedIn(w.Context(), session)
				w.must(err)
				w.want("who is signed in", token, got)
				end(w, session, token)
				_, err = w.store.SignedIn(w.Context(), session)
				w.want("how the session answers", server.CodeUnauthenticated, server.CodeOf(err))
				_, err = w.store.SignedIn(w.Context(), secret)
				w.want("how the token answers as a session", server.CodeUnauthenticated, server.CodeOf(err))
			})
		})
	}
}

func TestOnlyTokensOfPeopleSignIn(t *testing.T) {
	onEach(t, func(w *world) {
		_, agent, err := w.store.RotateAgentToken(w.Context(), w.cluster.ID)
		w.must(err)
		_, err = w.store.SignIn(w.Context(), agent, time.Hour)
		w.want("an agent's token", server.CodeForbidden, server.CodeOf(err))
		_, err = w.store.SignIn(w.Context(), "styrmin_unknown", time.Hour)
		w.want("an unknown token", server.CodeUnauthenticated, server.CodeOf(err))
	})
}
