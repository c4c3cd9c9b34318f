// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reporter tells the server, every few seconds, what the cluster
// really holds: every pod and every StyrminDeployment (rules P1 to P9 of the
// design).
//
// The parts, in the order that data passes them:
//
//   - source.go and freshness.go read a kind from its informer's store, and
//     only when the store is proven to be current; livelist.go lists it from the
//     API server otherwise, and connection.go is how both ask that;
//   - pod.go, podstatus.go, container.go and deployment.go make rows of objects,
//     purely;
//   - podtable.go keeps the rendered rows and knows what the server has
//     acknowledged;
//   - session.go sends, by the agent's client of the server;
//   - loop.go makes snapshots and sends them; runnable.go is what the manager
//     runs.
package reporter

//go:generate go -C ../hack/tools tool genqlient ../../reporter/genqlient.yaml
