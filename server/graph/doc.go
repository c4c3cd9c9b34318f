// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package graph answers the wire contract: thin resolvers over package store,
// and at the edge who may call what (the role table), how much a call may cost
// (the limits), and how errors look.
package graph

//go:generate go -C ../.. tool -modfile=hack/tools/go.mod gqlgen generate --config server/graph/gqlgen.yml
