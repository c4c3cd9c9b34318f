// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crds holds the CustomResourceDefinitions that the local cluster serves in the place of an installed Flux and
// Traefik. Flux's are generated from the Go types of its API modules, so they follow the versions in go.mod; Traefik's
// are small and keep any spec.
package crds

import (
	"embed"

	// The generator below reads these packages from the module graph.
	_ "github.com/fluxcd/helm-controller/api/v2"
	_ "github.com/fluxcd/source-controller/api/v1"
)

//go:generate go tool -modfile=../../tools/go.mod controller-gen crd paths=github.com/fluxcd/helm-controller/api/v2 paths=github.com/fluxcd/source-controller/api/v1 output:crd:dir=.

// Flux holds one CustomResourceDefinition a file, of all kinds that Flux's source and helm controllers watch.
//
//go:embed helm.toolkit.fluxcd.io_*.yaml source.toolkit.fluxcd.io_*.yaml
var Flux embed.FS

// Traefik holds one CustomResourceDefinition a file: Middleware and IngressRoute.
//
//go:embed traefik.io_*.yaml
var Traefik embed.FS
