// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "github.com/google/uuid"

// NewID makes the ids of tasks, steps and instances: UUIDv7. Nothing reads an
// order from them.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
