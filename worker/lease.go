// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// errLeaseLost ends a flow whose task has passed to another worker, or whose flow
// has ended on the server (W3).
var errLeaseLost = errors.New("the task is not this worker's any more")

// lease says until when a task is surely this worker's (W3): counted from before
// the request that the server answered, it ends here before it does there. When
// it has run out the task may still be this worker's, until another claims it;
// so the flow then pauses, and goes on when the lease could be renewed.
type lease struct {
	clock clock.WithDelayedExecution

	mu      sync.Mutex
	until   time.Time
	renewed chan struct{} // closed at the next renewal
}

func newLease(clock clock.WithDelayedExecution, until time.Time) *lease {
	return &lease{clock: clock, until: until, renewed: make(chan struct{})}
}

func (l *lease) end() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

func (l *lease) isHeld() bool {
	return l.clock.Now().Before(l.end())
}

// extend takes in a renewal.
func (l *lease) extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.until) {
		l.until = until
	}
	close(l.renewed)
	l.renewed = make(chan struct{})
}

// hold waits until the lease is held and returns a context that ends when it
// runs out. The error is why ctx has ended before that.
func (l *lease) hold(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		l.mu.Lock()
		left, renewed := l.until.Sub(l.clock.Now()), l.renewed
		l.mu.Unlock()
		if left > 0 {
			held, cancel := context.WithCancel(ctx)
			timer := l.clock.AfterFunc(left, cancel)
			return held, func() { timer.Stop(); cancel() }, nil
		}
		select {
		case <-ctx.Done():
		case <-renewed:
		}
	}
}

// keepLease renews the lease until the context ends. It calls lost once the
// server says that the task is not this worker's any more.
func (f *flow) keepLease(ctx context.Context, lost context.CancelCauseFunc) {
	third := f.opts.Lease / 3
	for pause := third; ; {
		if pauseFor(ctx, f.clock, wait.Jitter(pause*9/10, 0.2)) != nil {
			return
		}
		sent := f.clock.Now()
		err := f.server.renew(ctx, f.id)
		if ctx.Err() != nil {
			return
		}
		f.failures.Outcome(f.log, "renewing the lease of a task", err)
		switch {
		case err == nil:
			f.lease.extend(sent.Add(f.opts.Lease))
			pause = third
		case isFinal(err):
			f.metrics.lostLeases.Inc()
			lost(errors.Join(errLeaseLost, err))
			return
		default:
			pause = third / 5
		}
	}
}
