// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// newBackoff returns the pauses between tries: from half a second up to ten, each
// longer by up to a half.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: math.MaxInt, Cap: 10 * time.Second}
}

// pauseFor waits so long, or until the context ends, whose cause it returns then.
func pauseFor(ctx context.Context, clock clock.Clock, pause time.Duration) error {
	timer := clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return nil
	}
}
