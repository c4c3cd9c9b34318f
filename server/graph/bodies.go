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
// and answered: two of the largest. What does not fit waits, and is refused when
// that takes too long.
const (
	maxBodies   = 2 * maxReportBody
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

func newBodies(size int64, wait time.Duration) *bodies {
	return &bodies{room: semaphore.NewWeighted(size), wait: wait}
}

// share is one request's part of the room.
type share struct {
	bodies *bodies
	held   int64
}

// grow makes the part as large as a body of so many bytes needs. It takes room as
// bytes come in, since their number is not known before: a sender who is slow, or
// promises more than comes, keeps others from no more than what was sent.
func (s *share) grow(ctx context.Context, size int64) error {
	more := size - maxBody - s.held
	if more <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.bodies.wait)
	defer cancel()
	if err := s.bodies.room.Acquire(ctx, more); err != nil {
		return errBodiesFull
	}
	s.held += more
	return nil
}

// giveBack ends the part, once nothing of the body is needed any more.
func (s *share) giveBack() {
	s.bodies.room.Release(s.held)
	s.held = 0
}

// counted is a body that grows its share as it is read.
type counted struct {
	io.Reader
	read int64
	grow func(size int64) error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	if failed := c.grow(c.read); failed != nil {
		return 0, failed
	}
	return n, err
}
