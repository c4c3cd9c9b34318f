// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/internal/failurelog"
	"github.com/styrmin/styrmin/internal/serverclient"
)

// SetupWithManager adds the worker to the manager: a leader-only Runnable and the
// metrics styrmin_worker_…. It adds no readiness check: an agent whose server is
// away can carry on with nothing of a flow, but restarting it would not help, and
// the reporter says already that the server is away. Options that are missing or
// wrong, and files that cannot be read, are errors.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	w, err := newWorker(options, mgr.GetLogger().WithName("worker"), mgr.GetClient(), mgr.GetAPIReader())
	if err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if err := mgr.Add(w); err != nil {
		return fmt.Errorf("worker: adding it to the manager: %w", err)
	}
	return nil
}

// newWorker makes a worker that writes to the cluster with writer and reads from
// its API server with live.
func newWorker(options Options, log logr.Logger, writer client.Writer, live client.Reader) (*worker, error) {
	options, err := options.complete()
	if err != nil {
		return nil, err
	}
	connection, err := serverclient.New(options.ServerAddress, options.TokenFile, options.CAFile, options.RequestTimeout)
	if err != nil {
		return nil, err
	}
	instruments, err := newInstruments(options.Metrics)
	if err != nil {
		return nil, err
	}
	failures := failurelog.New(options.Clock)
	return &worker{
		opts:    options,
		log:     log,
		clock:   options.Clock,
		metrics: instruments,
		server: &server{
			client: connection, clock: options.Clock, workerID: newWorkerID(options.AgentID), lease: options.Lease,
			log: log, failures: failures,
		},
		close:    connection.Close,
		writer:   writer,
		live:     live,
		flows:    newFlows(options.Flows),
		failures: failures,
	}, nil
}

// newWorkerID names one run of a worker: one that starts again under its old name
// would not notice that another has had its tasks in the meantime (W3).
func newWorkerID(agentID string) string {
	const most = 200
	return agentID[:min(len(agentID), most)] + "-" + strings.ToLower(rand.Text()[:10])
}
