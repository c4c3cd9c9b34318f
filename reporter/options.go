// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const (
	defaultInterval       = 5 * time.Second
	defaultRequestTimeout = 10 * time.Second
)

// Options say where the reporter reports to, and what.
type Options struct {
	// ServerAddress is the server's base URL; /graphql is appended. Required.
	ServerAddress string
	// TokenFile holds the agent's bearer token. It is read for each request, so
	// that the token can be rotated. Empty: requests carry none.
	TokenFile string
	// CAFile holds PEM certificates to trust for the server instead of the
	// system's. Empty: the system's.
	CAFile string
	// ClusterID is the cluster's id on the server. Empty: the token says it.
	ClusterID string
	// AgentID names this agent, its pod's or host's name. Required.
	AgentID string
	// AgentVersion is the agent's version. Required.
	AgentVersion string
	// Interval between reports, unless the server wants another. Zero: 5 s.
	Interval time.Duration
	// RequestTimeout is how long a request may take. Zero: 10 s.
	RequestTimeout time.Duration
	// PodSelector limits the pods that are reported by their labels. Nil: all.
	PodSelector labels.Selector
	// Namespaces limits the pods that are reported by namespace. Empty: all.
	Namespaces []string
	// Clock tells the time. Nil: the real one.
	Clock clock.Clock
	// Metrics is where the metrics are registered. Nil: controller-runtime's
	// registry.
	Metrics prometheus.Registerer
}

// complete returns the options with defaults, or what is wrong with them.
func (o Options) complete() (Options, error) {
	var errs []error
	for name, value := range map[string]string{
		"ServerAddress": o.ServerAddress,
		"AgentID":       o.AgentID,
		"AgentVersion":  o.AgentVersion,
	} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s is required", name))
		}
	}
	for name, value := range map[string]time.Duration{"Interval": o.Interval, "RequestTimeout": o.RequestTimeout} {
		if value < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative", name))
		}
	}
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.RequestTimeout == 0 {
		o.RequestTimeout = defaultRequestTimeout
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Metrics == nil {
		o.Metrics = metrics.Registry
	}
	return o, errors.Join(errs...)
}
