// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"time"

	"k8s.io/utils/clock"
)

// Options are the operator's times and limits. The zero value of each field
// stands for its default; tests and the demo shorten them.
type Options struct {
	// SettleTime is how long a deployment must be as declared before it is
	// displayed as Running (O4). Default 10 s.
	SettleTime time.Duration
	// PodGrace is how long a pod may show a failure before the deployment is
	// displayed as Error (O4). Default 30 s.
	PodGrace time.Duration
	// SourceDebounce is how long source, dependency and value errors of a
	// HelmRelease count as progress (O3). Default 60 s.
	SourceDebounce time.Duration
	// ProgressGrace comes on top of spec.helmRelease.timeout before missing
	// progress counts as a failure (O3). Default 60 s.
	ProgressGrace time.Duration
	// DeletedVisibleFor is how long the phase Deleted stays visible before the
	// finalizer goes: one reporting interval and some (O6). Default 6 s.
	DeletedVisibleFor time.Duration
	// RecheckInterval is how often the operator looks again at what no watch
	// tells it: foreign objects in the way, missing APIs. Default 15 s.
	RecheckInterval time.Duration
	// EventDelay is how long the events of what belongs to a deployment are
	// gathered before they cause a reconcile. Default 250 ms.
	EventDelay time.Duration
	// HelmInterval is how often Flux looks for drift. Default 10 min.
	HelmInterval time.Duration
	// HelmRetryInterval is how long Flux waits after a failed install or upgrade
	// before it tries again. Default 1 min.
	HelmRetryInterval time.Duration
	// Concurrency is how many StyrminDeployments are worked on at once. Default 8.
	Concurrency int
	// Clock tells the time. Default: the real one.
	Clock clock.PassiveClock
}

// withDefaults returns the options with every unset field at its default.
func (o Options) withDefaults() Options {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&o.SettleTime, 10 * time.Second},
		{&o.PodGrace, 30 * time.Second},
		{&o.SourceDebounce, time.Minute},
		{&o.ProgressGrace, time.Minute},
		{&o.DeletedVisibleFor, 6 * time.Second},
		{&o.RecheckInterval, 15 * time.Second},
		{&o.EventDelay, 250 * time.Millisecond},
		{&o.HelmInterval, 10 * time.Minute},
		{&o.HelmRetryInterval, time.Minute},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if o.Concurrency == 0 {
		o.Concurrency = 8
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
