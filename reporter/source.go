// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// source reads all objects of one kind, or fails: it never returns a part (P3).
type source[T client.Object] interface {
	// read returns the objects and the time up to which they are proven current
	// (P2). They are shared with the informers and must not be changed (P6).
	read(ctx context.Context) (objects []T, provenAt time.Time, err error)
}

// errNotSynced is an informer that has not seen a first list: what it holds is
// a part.
var errNotSynced = errors.New("the informer has not synced")

// informerSource reads the store of an informer of the manager's cache.
type informerSource[T client.Object] struct {
	informers cache.Informers
	example   T
	// selects tells which of the objects are reported.
	selects func(T) bool
	clock   clock.PassiveClock
}

func (s *informerSource[T]) read(ctx context.Context) ([]T, time.Time, error) {
	store, err := s.store(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	provenAt := s.clock.Now()
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
	return objects, provenAt, nil
}

// store returns the informer's store. It does not wait: an informer that cannot
// start, for want of the kind or of the right to list it, must hold up neither
// the other kind nor the manager.
func (s *informerSource[T]) store(ctx context.Context) (toolscache.Store, error) {
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
