// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import "sync"

// internerSize is how many values an interner holds at least, and half of how
// many at most.
const internerSize = 1 << 14

// interner keeps one copy of what comes again and again: a cluster's pods have
// few different label keys, images, nodes and owners, and the pods of one
// ReplicaSet have the same containers and labels. It forgets what did not come up
// lately, so that it does not grow with the cluster's history. Whoever gets a
// value shares it and must not change it.
type interner[V any] struct {
	mu           sync.Mutex
	recent, past map[string]V
}

// get returns the value of the key: the one that it has, or the one that create
// makes.
func (i *interner[V]) get(key string, create func() V) V {
	i.mu.Lock()
	defer i.mu.Unlock()
	if kept, ok := i.recent[key]; ok {
		return kept
	}
	value, ok := i.past[key]
	if !ok {
		value = create()
	}
	if i.recent == nil || len(i.recent) >= internerSize {
		i.recent, i.past = make(map[string]V), i.recent
	}
	i.recent[key] = value
	return value
}
