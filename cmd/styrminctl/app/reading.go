// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"io"
)

// readerFunc is a function that reads.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// interruptible reads until ctx ends, whose error it returns then: a terminal or a
// pipe may not have anything for ever.
func interruptible(ctx context.Context, from io.Reader) io.Reader {
	type result struct {
		n   int
		err error
	}
	return readerFunc(func(p []byte) (int, error) {
		// What comes too late goes where nobody reads.
		buffer, read := make([]byte, len(p)), make(chan result, 1)
		go func() {
			n, err := from.Read(buffer)
			read <- result{n, err}
		}()
		select {
		case got := <-read:
			return copy(p, buffer[:got.n]), got.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
}
