// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulation holds what kwok's simulated kubelets do: the stages that nodes and pods go through.
package simulation

import (
	_ "embed"
)

// Stages is kwok's configuration: one Stage a YAML document.
//
//go:embed stages.yaml
var Stages []byte
