// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import "sync"

// internerSize is how many texts an interner holds at least, and half of how
// many at most.
const internerSize = 1 << 14

// interner keeps one copy of texts that come again and again: a cluster's pods
// have few different label keys, images, nodes and owners. It forgets what did
// not come up lately, so that it does not grow with the cluster's history.
type interner struct {
	mu           sync.Mutex
	recent, past map[string]string
}

// intern returns a text equal to s, the same copy for equal texts where it has
// one.
func (i *interner) intern(s string) string {
	if s == "" {
		return ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if kept, ok := i.recent[s]; ok {
		return kept
	}
	if kept, ok := i.past[s]; ok {
		s = kept
	}
	if i.recent == nil || len(i.recent) >= internerSize {
		i.recent, i.past = make(map[string]string), i.recent
	}
	i.recent[s] = s
	return s
}
