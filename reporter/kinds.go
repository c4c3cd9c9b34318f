// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

// kind is one of the two kinds of objects that are reported, each judged apart
// from the other (P3). It is the label of the metrics too.
type kind string

const (
	kindPods        kind = "pods"
	kindDeployments kind = "styrmindeployments"
)
