// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

const (
	// proofInterval is the time between the beginnings of two proofs that
	// succeed: with the time that one takes, less than the 10 s of P2.
	proofInterval = 7 * time.Second
	// failedProofInterval is the pause after a proof that failed.
	failedProofInterval = 2 * time.Second
	// storeGrace is how long an informer may take to store what the API server
	// has already told others.
	storeGrace = 2 * time.Second
	// storePoll is how often it is looked at within that.
	storePoll = 50 * time.Millisecond
	// maxProofAge is how old a proof may be for the store to be reported (P2).
	maxProofAge = 15 * time.Second
)

var (
	// errFrozen is an informer that lacks what the API server has: its watch
	// delivers nothing, and it does not know.
	errFrozen = errors.New("the informer's watch is frozen")
	// errOtherHistory is an API server that knows less than the informer: its
	// etcd was restored.
	errOtherHistory = errors.New("the informer is ahead of the API server")
	// errNoProof is that no proof has been made, or none of late.
	errNoProof = errors.New("the informer is not proven current")
)

// prober asks the API server itself.
type prober interface {
	currentVersion(ctx context.Context) (string, error)
	hasReached(ctx context.Context, version string) error
	eventsSince(ctx context.Context, since string, seen func(version string) bool) error
	cut()
}

// ageOf is how long ago the time was by the clock that says more: the wall clock may
// have been set back since, and the monotonic clock stands still while the machine
// sleeps.
func ageOf(clock clock.PassiveClock, t time.Time) time.Duration {
	return max(clock.Since(t), clock.Now().Round(0).Sub(t.Round(0)))
}

// prover proves again and again that an informer's store holds what the API
// server has (P2): a watch that is down or frozen keeps a store as it was
// without an error.
type prover struct {
	clock clock.Clock
	probe prober
	// version returns the resource version up to which the store is filled, or
	// why there is none.
	version func(context.Context) (string, error)
	// observe is told how each proof went.
	observe func(error)

	mu       sync.Mutex
	provenAt time.Time
	err      error
	first    chan struct{}
	tried    bool
}

func newProver(clock clock.Clock, probe prober, version func(context.Context) (string, error), observe func(error)) *prover {
	return &prover{
		clock: clock, probe: probe, version: version, observe: observe,
		err: errNoProof, first: make(chan struct{}),
	}
}

// run makes proofs until the context ends.
func (p *prover) run(ctx context.Context) {
	defer p.probe.cut()
	for {
		began := p.clock.Now()
		err := p.prove(ctx)
		if ctx.Err() != nil {
			return
		}
		p.record(began, err)
		pause := proofInterval - p.clock.Since(began)
		if err != nil {
			// What failed may be the connection itself.
			p.probe.cut()
			pause = failedProofInterval
		}
		timer := p.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

func (p *prover) record(began time.Time, err error) {
	p.observe(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	if err == nil {
		p.provenAt = began
	}
	if !p.tried {
		p.tried = true
		close(p.first)
	}
}

// state returns up to when the store is proven current, zero for never, and how
// the newest proof went. It waits for the first.
func (p *prover) state(ctx context.Context) (provenAt time.Time, err error) {
	select {
	case <-p.first:
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.provenAt, p.err
}

// prove makes one proof: without an error, the store holds everything that had
// happened when prove was called.
func (p *prover) prove(ctx context.Context) error {
	stored, storeErr := p.version(ctx)
	// A store that cannot be had is often the consequence of what the API server
	// says to this: no right to list, no such kind.
	current, err := p.probe.currentVersion(ctx)
	if err != nil {
		return err
	}
	if storeErr != nil {
		return storeErr
	}
	ahead, err := resourceversion.CompareResourceVersion(stored, current)
	if err != nil {
		return fmt.Errorf("comparing resource versions: %w", err)
	}
	if ahead > 0 {
		return fmt.Errorf("%w: it is at resource version %s, the API server at %s", errOtherHistory, stored, current)
	}
	if err := p.probe.hasReached(ctx, current); err != nil {
		return err
	}
	missed, err := p.missed(ctx, stored, current)
	if missed != "" {
		if err := p.waitFor(ctx, missed); err != nil {
			return err
		}
	}
	return err
}

// missed returns the last version up to current that the API server tells of
// when it is asked for what happened after the stored one, "" for none. With an
// error there may be more.
func (p *prover) missed(ctx context.Context, stored, current string) (string, error) {
	missed := ""
	var malformed error
	err := p.probe.eventsSince(ctx, stored, func(version string) bool {
		later, err := resourceversion.CompareResourceVersion(version, current)
		if err != nil {
			malformed = fmt.Errorf("comparing resource versions: %w", err)
			return false
		}
		if later > 0 {
			// It, and all after it, happened since the proof began.
			return false
		}
		missed = version
		return true
	})
	if err == nil {
		err = malformed
	}
	return missed, err
}

// waitFor gives the informer a short time to get to a version.
func (p *prover) waitFor(ctx context.Context, version string) error {
	deadline := p.clock.Now().Add(storeGrace)
	for {
		stored, err := p.version(ctx)
		if err != nil {
			return err
		}
		behind, err := resourceversion.CompareResourceVersion(stored, version)
		if err != nil {
			return fmt.Errorf("comparing resource versions: %w", err)
		}
		if behind >= 0 {
			return nil
		}
		if p.clock.Now().After(deadline) {
			return fmt.Errorf("%w: it is at resource version %s and lacks %s", errFrozen, stored, version)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.clock.After(storePoll):
		}
	}
}

// isStale tells whether a proof has shown that the store is not current, rather
// than failed to show that it is.
func isStale(err error) bool {
	return errors.Is(err, errFrozen) || errors.Is(err, errBehind) || errors.Is(err, errOtherHistory) ||
		apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// proofResult names how a proof went, for the metric.
func proofResult(err error) string {
	switch {
	case err == nil:
		return "proven"
	case errors.Is(err, errNotSynced):
		return "not_synced"
	case errors.Is(err, errFrozen):
		return "frozen"
	case errors.Is(err, errBehind):
		return "behind"
	case errors.Is(err, errOtherHistory):
		return "other_history"
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return "expired"
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return "forbidden"
	case apierrors.IsNotFound(err):
		return "not_found"
	default:
		return "unreachable"
	}
}
