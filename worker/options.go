// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Options say whose tasks the worker runs, and how.
type Options struct {
	// ServerAddress is the server's base URL; /graphql is appended. Required.
	ServerAddress string
	// TokenFile holds the agent's bearer token. It is read for each request, so
	// that the token can be rotated. Empty: requests carry none, and the server
	// gives out no tasks.
	TokenFile string
	// CAFile holds PEM certificates to trust for the server instead of the
	// system's. Empty: the system's.
	CAFile string
	// ClusterID is the cluster's id on the server. Empty: the token says it.
	ClusterID string
	// AgentID names this agent, its pod's or host's name. Required.
	AgentID string
	// RequestTimeout is how long a request may take. Zero: 10 s.
	RequestTimeout time.Duration
	// Lease is how long the server keeps a task for this worker after it was last
	// heard of, in whole seconds. Zero: 30 s.
	Lease time.Duration
	// PollInterval is the time between two looks for a task, and at what a flow
	// waits for; it is jittered by a third. Zero: 1.5 s.
	PollInterval time.Duration
	// Flows is how many flows run at once, those of hook tasks apart. Zero: 16.
	Flows int
	// Patience is how long a step goes on after the API server has first answered
	// that it cannot be done now. Zero: 5 min.
	Patience time.Duration
	// Clock tells the time. Nil: the real one.
	Clock clock.WithDelayedExecution
	// Metrics is where the metrics are registered. Nil: controller-runtime's
	// registry.
	Metrics prometheus.Registerer
}

// complete returns the options with defaults, or what is wrong with them.
func (o Options) complete() (Options, error) {
	var errs []error
	for name, value := range map[string]string{"ServerAddress": o.ServerAddress, "AgentID": o.AgentID} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s is required", name))
		}
	}
	for _, f := range []struct {
		name  string
		field *time.Duration
		value time.Duration
	}{
		{"RequestTimeout", &o.RequestTimeout, 10 * time.Second},
		{"Lease", &o.Lease, 30 * time.Second},
		{"PollInterval", &o.PollInterval, 1500 * time.Millisecond},
		{"Patience", &o.Patience, 5 * time.Minute},
	} {
		if *f.field < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative", f.name))
		}
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if o.Lease%time.Second != 0 {
		errs = append(errs, errors.New("the Lease must be whole seconds"))
	}
	if o.Flows < 0 {
		errs = append(errs, errors.New("the number of Flows must not be negative"))
	}
	if o.Flows == 0 {
		o.Flows = 16
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Metrics == nil {
		o.Metrics = metrics.Registry
	}
	return o, errors.Join(errs...)
}
