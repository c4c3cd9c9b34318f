// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts holds the sample charts that the local cluster serves.
package charts

import "embed"

// Files holds one chart a folder. Names that begin with an underscore are part of a chart.
//
//go:embed all:shop
var Files embed.FS

// Versions lists, for each chart, the versions under which the same files are served, so that upgrades can be tried.
func Versions() map[string][]string {
	return map[string][]string{"shop": {"2.4.1", "2.5.0"}}
}
