// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"math/rand/v2"
	"time"
)

// A call that may be repeated is made up to tries times, about three seconds in
// all where the server answers or refuses at once.
const (
	tries        = 5
	firstBackoff = 200 * time.Millisecond
)

// retry makes a call until it works, fails for good or has been tried often
// enough. The call must be a read, or a change under an idempotency key.
func retry[T any](ctx context.Context, c *Client, call func(context.Context) (T, error)) (T, error) {
	backoff := firstBackoff
	for try := 1; ; try++ {
		answer, err := call(ctx)
		if err == nil || !isTransient(err) || try == tries {
			return answer, err
		}
		// Clients that lost the server at the same time do not come back at the same.
		jittered := backoff/2 + rand.N(backoff) //nolint:gosec // Not a secret.
		if err := c.sleep(ctx, jittered); err != nil {
			return answer, err
		}
		backoff *= 2
	}
}
