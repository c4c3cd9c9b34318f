// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// syncTimeout is how long the caches may take to get their first objects, which
// is seconds; a large cluster behind a slow API server gets some more.
const syncTimeout = 2 * time.Minute

// starter is what of a manager is needed to run it.
type starter interface {
	Add(manager.Runnable) error
	Start(context.Context) error
}

// startManager runs the manager until ctx ends. Without a permission, or without
// the API server, its caches never sync, and controller-runtime waits for them for
// ever, even when it was told to end: the process ends then with an error (H02).
func startManager(ctx context.Context, mgr starter, syncTimeout, endTimeout time.Duration) error {
	synced := make(notifier)
	if err := mgr.Add(synced); err != nil {
		return fmt.Errorf("watching the caches: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	late := time.NewTimer(syncTimeout)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-synced:
		return <-ended
	case <-late.C:
		return fmt.Errorf("the caches have not synced within %s: the log names the kinds that could not be listed, and the permissions that are missing",
			syncTimeout)
	case <-ctx.Done():
	}
	late.Reset(endTimeout)
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return nil // It had not begun to work.
	}
}

// notifier is closed when the manager starts it, which is after its caches.
type notifier chan struct{}

// NeedLeaderElection is false: every replica has caches.
func (n notifier) NeedLeaderElection() bool { return false }

// Start tells that the caches have synced.
func (n notifier) Start(context.Context) error {
	close(n)
	return nil
}
