// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"encoding/json"

	"github.com/styrmin/styrmin/server"
)

// errLater refuses what this release of the server has no tasks for yet.
func errLater(what string) error {
	return server.Errorf(server.CodeInvalidInput, "%s comes with a later release of the server: "+
		"apply StyrminDeployments to the cluster, the server adopts them", what)
}

func (r mutationResolver) CreateDeployment(context.Context, CreateDeploymentInput, *string) (*server.Task, error) {
	return nil, errLater("createDeployment")
}

func (r mutationResolver) UpdateDeployment(context.Context, string, json.RawMessage, *string) (*server.Task, error) {
	return nil, errLater("updateDeployment")
}

func (r mutationResolver) ScaleDeployment(context.Context, string, []ComponentReplicasInput, *string) (*server.Task, error) {
	return nil, errLater("scaleDeployment")
}

func (r mutationResolver) UpdateDeploymentVersion(context.Context, string, string, *string) (*server.Task, error) {
	return nil, errLater("updateDeploymentVersion")
}

func (r mutationResolver) DeleteDeployment(context.Context, string, *string) (*server.Task, error) {
	return nil, errLater("deleteDeployment")
}

func (r mutationResolver) StartComponents(context.Context, string, []string, *string) (*server.Task, error) {
	return nil, errLater("startComponents")
}

func (r mutationResolver) StopComponents(context.Context, string, []string, *string) (*server.Task, error) {
	return nil, errLater("stopComponents")
}

func (r mutationResolver) RunJob(context.Context, string, string, *string) (*server.Task, error) {
	return nil, errLater("runJob")
}

func (r mutationResolver) ClaimTask(context.Context, string, string, int) (*TaskAssignment, error) {
	return nil, errLater("claimTask")
}

func (r mutationResolver) RenewTaskLease(context.Context, string, string, int) (bool, error) {
	return false, errLater("renewTaskLease")
}

func (r mutationResolver) StartStep(context.Context, string, string, string) (*server.Step, error) {
	return nil, errLater("startStep")
}

func (r mutationResolver) FinishStep(context.Context, string, string, string, *string) (*server.Step, error) {
	return nil, errLater("finishStep")
}

func (r mutationResolver) StartHookTask(context.Context, string, string, string, HookTaskInput) (*server.Task, error) {
	return nil, errLater("startHookTask")
}

func (r mutationResolver) RecordSpecWrite(context.Context, string, string) (*server.Instance, error) {
	return nil, errLater("recordSpecWrite")
}

func (r mutationResolver) RecordDeletionRequest(context.Context, string, string) (bool, error) {
	return false, errLater("recordDeletionRequest")
}

func (r mutationResolver) FinishTask(context.Context, string, string, server.TaskStatus, *string) (*server.Task, error) {
	return nil, errLater("finishTask")
}

func (r queryResolver) Task(context.Context, string) (*server.Task, error) { return nil, nil }

func (r deploymentResolver) Instance(context.Context, *server.Deployment) (*server.Instance, error) {
	return nil, nil
}

func (r deploymentResolver) Tasks(context.Context, *server.Deployment, int) ([]server.Task, error) {
	return nil, nil
}

func (r taskResolver) Result(context.Context, *server.Task) (server.TaskResult, error) {
	return server.ResultRunning, nil
}

func (r taskResolver) FailureReason(context.Context, *server.Task) (*string, error) { return nil, nil }

func (r stepResolver) Notice(context.Context, *server.Step) (*string, error) { return nil, nil }

func (r stepResolver) Tasks(context.Context, *server.Step) ([]server.Task, error) { return nil, nil }
