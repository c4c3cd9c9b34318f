// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/styrmin/styrmin/internal/serverclient"
)

const (
	// maxBackoff is the longest wait after failed pushes (P5).
	maxBackoff = 30 * time.Second
	// mismatchBackoff is the wait after the server has said that the token's
	// cluster is another one: a person has to look at it (P4).
	mismatchBackoff = 2 * time.Minute
)

// pace says how long to wait between cycles.
type pace struct {
	// interval between the beginnings of two cycles.
	interval time.Duration
	failures int
}

// next returns how long to wait after a cycle that took so long and ended with
// err, nil for success: the rest of the interval, jittered by a tenth, so that
// many agents do not report at once; after failures twice as long each time, up
// to maxBackoff, jittered by a half.
func (p *pace) next(err error, took time.Duration) time.Duration {
	if err == nil {
		p.failures = 0
		return max(0, wait.Jitter(p.interval-p.interval/10, 0.2)-took)
	}
	p.failures++
	if serverclient.IsRefused(err, codeClusterMismatch) {
		return wait.Jitter(mismatchBackoff, 0.5)
	}
	backoff := maxBackoff
	if p.failures < 16 {
		backoff = min(maxBackoff, p.interval<<(p.failures-1))
	}
	return wait.Jitter(backoff-backoff/2, 1)
}
