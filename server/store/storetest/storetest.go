// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storetest runs tests on every database that the store serves: on
// SQLite always, on PostgreSQL where the machine has its programs.
package storetest

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server/store"
)

// Clock is a clock that tests set. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at noon of a fixed day.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)}
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock and returns its new time.
func (c *Clock) Advance(by time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
	return c.now
}

// Run runs the test once on each database, as a subtest that is named after it,
// with a database of its own.
func Run(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, Postgres(t)) })
}

// SQLite returns the URL of a new SQLite database.
func SQLite(t testing.TB) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "styrmin.db")
}

// Open opens a store that is closed when the test ends.
func Open(t testing.TB, url string, clock *Clock) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Now: clock.Now})
	if err != nil {
		t.Fatalf("opening %s: %v", url, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}
