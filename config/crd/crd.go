// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the StyrminDeployment's CustomResourceDefinition, for
// programs that must know what the API server will take.
package crd

import _ "embed"

// StyrminDeployment is the manifest as it is installed in clusters, as YAML.
//
//go:embed bases/styrmin.io_styrmindeployments.yaml
var StyrminDeployment []byte
