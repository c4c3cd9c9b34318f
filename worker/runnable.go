// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/internal/failurelog"
)

// worker is the leader-only Runnable that runs the flows of the cluster's tasks.
type worker struct {
	opts    Options
	log     logr.Logger
	clock   clock.WithDelayedExecution
	metrics *instruments
	server  *server
	// close closes the connections to the server.
	close  func()
	writer client.Writer
	// live reads from the API server itself: what is decided here must not be
	// decided by an old picture.
	live     client.Reader
	flows    *flows
	failures *failurelog.Log
}

// NeedLeaderElection makes the manager run the worker on its leader only.
func (w *worker) NeedLeaderElection() bool {
	return true
}

// Start runs flows until the context ends. Those that are not done then are left
// to the next worker as they are. It leaves nothing running behind.
func (w *worker) Start(ctx context.Context) error {
	defer w.close()
	w.log.Info("Running the flows of tasks", "worker", w.server.workerID, "flows", w.opts.Flows, "lease", w.opts.Lease.String())
	var running sync.WaitGroup
	defer running.Wait()
	w.claim(ctx, func(assignment *Assignment, lease *lease) {
		running.Go(func() { w.run(ctx, assignment, lease) })
	})
	return nil
}
