// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// claim takes tasks from the server, and hands each to begin, until the context
// ends.
func (w *worker) claim(ctx context.Context, begin func(*Assignment, *lease)) {
	retry := newBackoff()
	for hooksWait := false; ; {
		pause := w.pollPause()
		if (hooksWait || w.flows.hasRoom()) && w.flows.areHeld() {
			claimed, err := w.claimOne(ctx, begin)
			if ctx.Err() != nil {
				return
			}
			w.failures.Outcome(w.log, "claiming a task", err)
			switch {
			case err != nil:
				pause = retry.Step()
			case claimed: // There may be more.
				retry, pause = newBackoff(), 0
			default:
				retry = newBackoff()
			}
		}
		timer := w.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.flows.hookWaits:
			timer.Stop()
			hooksWait = true
		case <-timer.C():
			hooksWait = false
		}
	}
}

// pollPause is the time until the next look at something that is waited for.
func (w *worker) pollPause() time.Duration {
	return wait.Jitter(w.opts.PollInterval-w.opts.PollInterval/3, 1)
}

// claimOne claims the next task, and tells whether there was one.
func (w *worker) claimOne(ctx context.Context, begin func(*Assignment, *lease)) (bool, error) {
	clusterID, err := w.clusterID(ctx)
	if err != nil {
		return false, err
	}
	sent := w.clock.Now()
	assignment, err := w.server.claim(ctx, clusterID)
	if err != nil || assignment == nil {
		return false, err
	}
	lease := newLease(w.clock, sent.Add(w.opts.Lease))
	if w.flows.add(&assignment.Task, lease) {
		begin(assignment, lease)
	}
	return true, nil
}

// errAmbiguous is a token for which the server shows several clusters.
var errAmbiguous = errors.New("the token is for several clusters: --cluster-id must say which is this one")

// errNoCluster is a token for which the server shows none: an agent's is for one.
var errNoCluster = errors.New("the server shows the token no cluster: it is not an agent's, or something else answers in the server's place")

// clusterID returns the cluster's id on the server: the configured one, or that
// of the one cluster which the agent's token lets it see.
func (w *worker) clusterID(ctx context.Context) (string, error) {
	if w.opts.ClusterID != "" {
		return w.opts.ClusterID, nil
	}
	ids, err := w.server.visibleClusters(ctx)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", errNoCluster
	case len(ids) > 1:
		return "", errAmbiguous
	}
	w.opts.ClusterID = ids[0]
	return ids[0], nil
}
