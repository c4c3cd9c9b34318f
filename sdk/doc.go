// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sdk is the Go client of a Styrmin server.
//
// Each call that changes a deployment returns a task. That its flow has ended
// does not say that the deployment runs: DeploymentsService.WaitForTask waits
// until the change has really finished, and says why when it has not.
//
//	client, err := sdk.New("https://styrmin.example", sdk.WithToken(token))
//	…
//	task, err := client.Deployments.StopComponents(ctx, deploymentID, []string{"server"})
//	…
//	waited, err := client.Deployments.WaitForTask(ctx, task.ID, sdk.MaxWait(5*time.Minute))
//	…
//	if !waited.Succeeded {
//		log.Fatal(waited.FailureReason)
//	}
//
// Errors that the server answers are of type *Error and match ErrNotFound,
// ErrConflict and so on; a server that does not answer is ErrUnavailable. Reads
// are tried again for a few seconds. So are changes of deployments, all tries of
// one call under one idempotency key: where only the answer was lost, the repeat
// returns the task that the first try made.
package sdk

//go:generate go -C ../hack/tools tool genqlient ../../sdk/genqlient.yaml
