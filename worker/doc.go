// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worker runs the flows of tasks: what a change asked for through the
// server does to the cluster (rules W1 to W5 of the design).
//
//   - runnable.go is what the manager runs; claims.go takes tasks from the server,
//     flows.go knows those that run here;
//   - flow.go follows one flow, by what next.go decides, purely; lease.go says how
//     long it may;
//   - write.go, deletion.go, hook.go and job.go carry out the steps, jobobject.go
//     and jobfailure.go are what is pure about jobs;
//   - server.go calls the server, persistence.go the API server, both again and
//     again where that can help.
//
// Each step may be run twice: a worker that ends in the middle of one leaves it
// to the next worker, which begins it anew.
package worker

//go:generate go -C ../hack/tools tool genqlient ../../worker/genqlient.yaml
