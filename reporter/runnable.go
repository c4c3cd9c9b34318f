// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"sync"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/internal/failurelog"
)

// reporter is the leader-only Runnable that reports the cluster (P1).
type reporter struct {
	log         logr.Logger
	clock       clock.Clock
	client      serverConnection
	clusterUID  func(context.Context) (string, error)
	identity    OpenReportSessionInput
	interval    time.Duration
	pods        source[*corev1.Pod]
	deployments source[*styrminv1.StyrminDeployment]
	metrics     *instruments
	health      *health
	failures    *failurelog.Log
}

// serverConnection is a client that keeps connections open between requests.
type serverConnection interface {
	graphql.Client
	Close()
}

// NeedLeaderElection makes the manager run the reporter on its leader only.
func (r *reporter) NeedLeaderElection() bool {
	return true
}

// Start reports until the context ends. It returns then, and leaves nothing
// running behind.
func (r *reporter) Start(ctx context.Context) error {
	r.health.started()
	defer r.health.stopped()
	garbage := startCollector()
	defer garbage.stop()
	defer r.client.Close()
	proofs, stopProofs := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stopProofs()
	group.Go(func() { r.pods.run(proofs) })
	group.Go(func() { r.deployments.run(proofs) })
	r.log.Info("Reporting", "interval", r.interval.String())
	return r.report(ctx, garbage, stopProofs)
}

// report makes and sends snapshots until the context ends. Once this reporter
// is superseded it only waits for that.
func (r *reporter) report(ctx context.Context, garbage *collector, stopProofs func()) error {
	loop := newLoop(r)
	for {
		began := r.clock.Now()
		err := loop.cycle(ctx)
		garbage.adapt()
		if loop.isSuperseded(err) {
			r.superseded(err)
			stopProofs()
			<-ctx.Done()
			return nil
		}
		timer := r.clock.NewTimer(loop.wait(err, r.clock.Since(began)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// superseded makes it known that this reporter has stopped for good (P4). It
// does not end the process: a new one would take the session back from the
// agent that has it now, and the two would go on doing so to each other.
func (r *reporter) superseded(err error) {
	r.health.markSuperseded()
	r.metrics.superseded.Set(1)
	r.log.Error(err, "ANOTHER AGENT HAS TAKEN OVER REPORTING THIS CLUSTER. This one has stopped reporting for good: "+
		"run one agent a cluster, and restart this one if it is the one to keep")
}
