// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// leastPause is the time between two changes whose way is followed.
	leastPause = 250 * time.Millisecond
	// longestWay is after how long a pod may be changed again, where there are few:
	// its row must not pass over a change.
	longestWay = 10 * time.Second
)

// follower follows changes of pods from the API server to the server's rows.
type follower struct {
	mu      sync.Mutex
	pending map[string]time.Time // by the message that the row will have
	delays  []time.Duration
}

// delays changes the statuses of pods of one namespace, one by one, and returns
// how long after each change it was in the server's database. The server is asked
// so often that this counts for less than half a second.
func (b *bench) delays(ctx context.Context, window time.Duration) ([]time.Duration, error) {
	f := &follower{pending: map[string]time.Time{}}
	began := time.Now()
	asked := make(chan error, 1)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	go func() { asked <- f.ask(asking, b) }()
	ticker := time.NewTicker(max(leastPause, longestWay/time.Duration(b.cluster.Marked())))
	defer ticker.Stop()
	for i := 0; time.Since(began) < window; i++ {
		message := fmt.Sprintf("change %d", i)
		if err := b.cluster.Mark(ctx, i, message); err != nil {
			return nil, err
		}
		f.mu.Lock()
		f.pending[message] = time.Now()
		f.mu.Unlock()
		select {
		case <-ticker.C:
		case err := <-asked:
			return nil, err
		}
	}
	if err := poll(ctx, time.Second/10, time.Minute, func() (bool, error) { return f.isDone(), nil }); err != nil {
		return nil, fmt.Errorf("%d changes did not arrive: %w", len(f.pending), err)
	}
	return f.delays, nil
}

func (f *follower) isDone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending) == 0
}

// ask looks for the rows of what was changed until the context ends.
func (f *follower) ask(ctx context.Context, b *bench) error {
	query := `query($namespace: String) { podStatuses(filter: {namespace: $namespace}) { message } }`
	err := poll(ctx, time.Second/10, time.Hour, func() (bool, error) {
		answer := struct{ PodStatuses []struct{ Message *string } }{}
		err := b.server.Query(ctx, query, map[string]any{"namespace": b.cluster.MarkedNamespace()}, &answer)
		now := time.Now()
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, row := range answer.PodStatuses {
			if row.Message == nil {
				continue
			}
			if at, ok := f.pending[*row.Message]; ok {
				f.delays = append(f.delays, now.Sub(at))
				delete(f.pending, *row.Message)
			}
		}
		return false, err
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // It was told to end.
	}
	return err
}
