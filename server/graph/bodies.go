// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/semaphore"
)

// What the bodies of all requests may take together in bytes, while they are read
// and answered: one of the largest. Memory is a multiple of that: the first full
// report of 50,000 pods takes the process to 518 MB (docs/benchmarks.md), and two at
// once would pass the 1 GiB that config/server gives it. So a large one is read only
// while the others hold no more than maxBody of the room. What does not fit waits,
// and is refused when that takes too long.
const (
	maxBodies   = maxReportBody
	maxBodyWait = 5 * time.Second
)

// errBodiesFull says that other large requests have left no room for this one.
var errBodiesFull = errors.New("other large requests left no room in time")

// bodies is the room that large bodies share. The first maxBody bytes of each
// request come for free, so that what people and workers send never waits for what
// reporters do.
type bodies struct {
	room *semaphore.Weighted
	wait time.Duration
}

func newBodies(wait time.Duration) *bodies {
	return &bodies{room: semaphore.NewWeighted(maxBodies), wait: wait}
}

// share is one request's part of the room.
type share struct {
	bodies *bodies
	held   int64
}

// take waits for the room that a body may need which is larger than comes for
// free. How large it is shows only at its end, and a body that held some room while
// it waits for more could wait for ever: so it is for the largest, until settle.
func (s *share) take(ctx context.Context, largest int64) error {
	ctx, cancel := context.WithTimeout(ctx, s.bodies.wait)
	defer cancel()
	if err := s.bodies.room.Acquire(ctx, largest-maxBody); err != nil {
		return errBodiesFull
	}
	s.held = largest - maxBody
	return nil
}

// settle gives back what a body of this size does not need.
func (s *share) settle(size int64) {
	needs := min(max(0, size-maxBody), s.held)
	s.bodies.room.Release(s.held - needs)
	s.held = needs
}

// counted is a body that takes its share of the room when it is larger than comes
// for free.
type counted struct {
	io.Reader
	read  int64
	large func() error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	before := c.read
	c.read += int64(n)
	if before <= maxBody && c.read > maxBody {
		if failed := c.large(); failed != nil {
			return 0, failed
		}
	}
	return n, err
}
