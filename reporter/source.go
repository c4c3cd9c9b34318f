// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// syncGrace is how long an informer may take for its first list before the kind
// is listed live instead.
const syncGrace = 30 * time.Second

// firstProofTimeout is how long a read waits for the first proof.
const firstProofTimeout = 10 * time.Second

// source reads all objects of one kind, or fails: it never returns a part (P3).
type source[T client.Object] interface {
	// run keeps the source able to prove what it reads, until the context ends.
	run(ctx context.Context)
	// read returns the objects and the time up to which they are proven current
	// (P2): the same reading as before where nothing has changed since.
	read(ctx context.Context) (objects *reading[T], provenAt time.Time, err error)
}

// reading is all objects of one kind as they were at one moment. They are shared
// with the informers and must not be changed (P6).
type reading[T client.Object] struct {
	objects []T
}

// errNotSynced is an informer that has not seen a first list: what it holds is
// a part.
var errNotSynced = errors.New("the informer has not synced")

// informerSource reads the store of an informer of the manager's cache while it
// is proven current, and lists from the API server while it is not (P2).
type informerSource[T client.Object] struct {
	clock clock.PassiveClock
	store *informerStore
	// proof tells up to when the store is proven current.
	proof interface {
		run(ctx context.Context)
		state(ctx context.Context) (provenAt time.Time, err error)
	}
	live interface {
		list(ctx context.Context) ([]T, error)
	}
	// observeLive is told how each live list went.
	observeLive func(error)
	// selects tells which of the objects are reported.
	selects func(T) bool
	// confirmLoss makes sure that objects which were there before are gone one by
	// one, and not because their kind is. Nil: a kind that is always there.
	confirmLoss func(context.Context) error

	// firstRead is when read was first called, liveAt when the last live list that
	// succeeded began, and listed what it told, until the store tells newer.
	firstRead, liveAt time.Time
	listed            *reading[T]
	// nextLive is when the next live list may begin after one that failed, liveErr why
	// that did.
	nextLive time.Time
	liveErr  error
	// stored is what the store held at storedVersion.
	stored        *reading[T]
	storedVersion string
	// known is the last read, where losses are confirmed.
	known *reading[T]
}

func (s *informerSource[T]) run(ctx context.Context) {
	s.proof.run(ctx)
}

func (s *informerSource[T]) read(ctx context.Context) (*reading[T], time.Time, error) {
	if s.firstRead.IsZero() {
		s.firstRead = s.clock.Now()
	}
	objects, provenAt, err := s.readStore(ctx)
	if err != nil && s.mayListLive(err) {
		objects, provenAt, err = s.readLive(ctx, err)
	}
	if err == nil && s.confirmLoss != nil && objects != s.known {
		err = s.confirm(ctx, objects)
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	return objects, provenAt, nil
}

// readStore returns what the informer holds, if that is proven current.
func (s *informerSource[T]) readStore(ctx context.Context) (*reading[T], time.Time, error) {
	waiting, cancel := context.WithTimeout(ctx, firstProofTimeout)
	defer cancel()
	provenAt, err := s.proof.state(waiting)
	if ageOf(s.clock, provenAt) > maxProofAge || isStale(err) {
		if err == nil {
			err = errNoProof
		}
		return nil, time.Time{}, err
	}
	if provenAt.Before(s.liveAt) {
		// The last live list may have told of what came after the proof; the store may
		// not. It is young enough by itself, and the next proof will tell more.
		return s.listed, s.liveAt, nil
	}
	s.listed = nil
	store, err := s.store.get(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	// The version changes with what the store holds, in one step. It is asked for
	// first: what is listed then may only be newer.
	version := store.LastStoreSyncResourceVersion()
	if s.stored != nil && version != "" && version == s.storedVersion {
		return s.stored, provenAt, nil
	}
	items := store.List()
	objects := make([]T, 0, len(items))
	for _, item := range items {
		object, ok := item.(T)
		if !ok {
			return nil, time.Time{}, fmt.Errorf("the informer holds a %T", item)
		}
		if s.selects(object) {
			objects = append(objects, object)
		}
	}
	s.stored, s.storedVersion = &reading[T]{objects}, version
	return s.stored, provenAt, nil
}

// mayListLive tells whether the kind is to be listed from the API server
// because the store could not be used: not while the informer is about to do
// so itself.
func (s *informerSource[T]) mayListLive(err error) bool {
	return !errors.Is(err, errNotSynced) || s.clock.Since(s.firstRead) > syncGrace
}

// readLive returns what the API server has now. unproven says why the store
// does not do.
func (s *informerSource[T]) readLive(ctx context.Context, unproven error) (*reading[T], time.Time, error) {
	s.stored = nil // It may hold what the store has no more.
	began := s.clock.Now()
	all, err := s.listLive(ctx)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%w (asked because %v)", err, unproven) //nolint:errorlint // the reason is told, not passed on
	}
	s.liveAt = began
	objects := make([]T, 0, len(all))
	for _, object := range all {
		if s.selects(object) {
			objects = append(objects, object)
		}
	}
	s.listed = &reading[T]{objects}
	return s.listed, began, nil
}

// listLive lists from the API server, but after a list that failed not before as much
// time has passed as that one took: what is slow for being overloaded gets some rest.
func (s *informerSource[T]) listLive(ctx context.Context) ([]T, error) {
	began := s.clock.Now()
	if began.Before(s.nextLive) {
		return nil, s.liveErr
	}
	all, err := s.live.list(ctx)
	s.observeLive(err)
	if err != nil {
		ended := s.clock.Now()
		s.nextLive, s.liveErr = ended.Add(min(ended.Sub(began), liveListTimeout)), err
	}
	return all, err
}

// confirm takes in which objects there are, after making sure of any loss.
func (s *informerSource[T]) confirm(ctx context.Context, objects *reading[T]) error {
	// What the agent before this one has reported is not known.
	if s.known == nil || s.known.hasMoreThan(objects) {
		if err := s.confirmLoss(ctx); err != nil {
			return fmt.Errorf("objects may be missing: %w", err)
		}
	}
	s.known = objects
	return nil
}

// hasMoreThan tells whether the other one lacks any of the objects.
func (r *reading[T]) hasMoreThan(other *reading[T]) bool {
	present := make(map[types.UID]struct{}, len(other.objects))
	for _, object := range other.objects {
		present[object.GetUID()] = struct{}{}
	}
	return slices.ContainsFunc(r.objects, func(object T) bool {
		_, ok := present[object.GetUID()]
		return !ok
	})
}

// informerStore finds the store of an informer of the manager's cache.
type informerStore struct {
	informers cache.Informers
	example   client.Object
}

// get returns the store once it has synced. It does not wait: an informer that
// cannot start, for want of the kind or of the right to list it, must hold up
// neither the other kind nor the manager.
func (s *informerStore) get(ctx context.Context) (toolscache.Store, error) {
	informer, err := s.informers.GetInformer(ctx, s.example, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("getting the informer: %w", err)
	}
	if !informer.HasSynced() {
		return nil, errNotSynced
	}
	holder, ok := informer.(interface{ GetStore() toolscache.Store })
	if !ok {
		return nil, fmt.Errorf("the informer (%T) has no single store; the cache must not be restricted to namespaces", informer)
	}
	return holder.GetStore(), nil
}

// version returns the resource version up to which the store is filled.
func (s *informerStore) version(ctx context.Context) (string, error) {
	store, err := s.get(ctx)
	if err != nil {
		return "", err
	}
	return store.LastStoreSyncResourceVersion(), nil
}
