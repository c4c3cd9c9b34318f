// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/styrmin/styrmin/internal/failurelog"
	"github.com/styrmin/styrmin/internal/serverclient"
)

// server is the flow contract. Every call of it may be made again: the server
// answers a repeated one as it did the first.
type server struct {
	client   graphql.Client
	clock    clock.WithDelayedExecution
	workerID string
	lease    time.Duration
	log      logr.Logger
	failures *failurelog.Log
}

// Codes of the contract that say that the same call will never work.
const (
	codeConflict     = "CONFLICT"
	codeInvalidInput = "INVALID_INPUT"
	codeLeaseLost    = "LEASE_LOST"
	codeNotFound     = "NOT_FOUND"
	codeTooLarge     = serverclient.CodeTooLarge
)

// isFinal tells whether the server has refused a call for good. What a token may
// do can change, so its refusals are not final.
func isFinal(err error) bool {
	return slices.ContainsFunc([]string{codeConflict, codeInvalidInput, codeLeaseLost, codeNotFound, codeTooLarge}, func(code string) bool {
		return serverclient.IsRefused(err, code)
	})
}

// errNoAnswer is an answer that is no refusal and does not say either that the
// server did what was asked: it may have come from something in between.
var errNoAnswer = errors.New("the answer does not confirm the request")

func confirm(confirmed bool) error {
	if !confirmed {
		return errNoAnswer
	}
	return nil
}

// answered calls the server until it answers, and returns a refusal that is
// final. When the context ends before that, it returns why.
func (s *server) answered(ctx context.Context, what string, call func(context.Context) error) error {
	retry := newBackoff()
	for {
		err := call(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil || isFinal(err) {
			s.failures.Outcome(s.log, what, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			return nil
		}
		s.failures.Outcome(s.log, what, err)
		if err := pauseFor(ctx, s.clock, retry.Step()); err != nil {
			return err
		}
	}
}

// leaseSeconds is the lease as the contract has it.
func (s *server) leaseSeconds() int { return int(s.lease / time.Second) }

// visibleClusters returns the clusters that the token lets it see: one for an
// agent's, all for an admin's.
func (s *server) visibleClusters(ctx context.Context) ([]string, error) {
	response, err := VisibleClusters(ctx, s.client)
	if err != nil {
		return nil, fmt.Errorf("asking for the token's cluster: %w", err)
	}
	ids := make([]string, len(response.Clusters))
	for i, cluster := range response.Clusters {
		ids[i] = cluster.Id
	}
	return ids, nil
}

// claim asks for the next task, once; nil where there is none.
func (s *server) claim(ctx context.Context, clusterID string) (*Assignment, error) {
	response, err := ClaimTask(ctx, s.client, clusterID, s.workerID, s.leaseSeconds())
	if err != nil {
		return nil, err
	}
	return response.ClaimTask, nil
}

// renew renews the lease of a task, once.
func (s *server) renew(ctx context.Context, taskID string) error {
	response, err := RenewTaskLease(ctx, s.client, taskID, s.workerID, s.leaseSeconds())
	if err != nil {
		return err
	}
	return confirm(response.RenewTaskLease)
}

// handOver shortens the lease of a task that this worker will not go on with, so
// that the next one need not wait.
func (s *server) handOver(ctx context.Context, taskID string) error {
	_, err := RenewTaskLease(ctx, s.client, taskID, s.workerID, 1)
	return err
}

func (s *server) task(ctx context.Context, id string) (task *TaskFields, err error) {
	err = s.answered(ctx, "reading a task", func(ctx context.Context) error {
		response, err := ReadTask(ctx, s.client, id)
		if err != nil {
			return err
		}
		task = response.Task
		return confirm(task != nil)
	})
	return task, err
}

// writtenSpec returns the newest written spec of a deployment.
func (s *server) writtenSpec(ctx context.Context, deploymentID string) (spec []byte, err error) {
	err = s.answered(ctx, "reading the deployment's spec", func(ctx context.Context) error {
		response, err := ReadWrittenSpec(ctx, s.client, deploymentID)
		if err != nil {
			return err
		}
		if response.Deployment != nil && response.Deployment.Instance != nil {
			spec = response.Deployment.Instance.Spec
		}
		return confirm(response.Deployment != nil)
	})
	return spec, err
}

func (s *server) startStep(ctx context.Context, taskID, stepID string) error {
	return s.answered(ctx, "starting a step", func(ctx context.Context) error {
		response, err := StartStep(ctx, s.client, taskID, s.workerID, stepID)
		if err != nil {
			return err
		}
		return confirm(response.StartStep.Status != "")
	})
}

// finishStep ends a step: well without reason, as failed with one.
func (s *server) finishStep(ctx context.Context, taskID, stepID string, reason *string) error {
	return s.answered(ctx, "finishing a step", func(ctx context.Context) error {
		response, err := FinishStep(ctx, s.client, taskID, s.workerID, stepID, reason)
		if err != nil {
			return err
		}
		return confirm(response.FinishStep.Status != "")
	})
}

func (s *server) startHookTask(ctx context.Context, taskID, stepID string, input HookTaskInput) (id string, err error) {
	err = s.answered(ctx, "starting a hook's task", func(ctx context.Context) error {
		response, err := StartHookTask(ctx, s.client, taskID, s.workerID, stepID, input)
		if err != nil {
			return err
		}
		id = response.StartHookTask.Id
		return confirm(id != "")
	})
	return id, err
}

func (s *server) recordSpecWrite(ctx context.Context, taskID string) (instance *RecordedInstance, err error) {
	err = s.answered(ctx, "recording the write", func(ctx context.Context) error {
		response, err := RecordSpecWrite(ctx, s.client, taskID, s.workerID)
		if err != nil {
			return err
		}
		instance = &response.RecordSpecWrite
		return confirm(instance.Id != "" && instance.DeploymentId != "")
	})
	return instance, err
}

func (s *server) recordDeletionRequest(ctx context.Context, taskID string) error {
	return s.answered(ctx, "recording the deletion request", func(ctx context.Context) error {
		response, err := RecordDeletionRequest(ctx, s.client, taskID, s.workerID)
		if err != nil {
			return err
		}
		return confirm(response.RecordDeletionRequest)
	})
}

func (s *server) finishTask(ctx context.Context, taskID string, status TaskStatus, message *string) error {
	return s.answered(ctx, "finishing a task", func(ctx context.Context) error {
		response, err := FinishTask(ctx, s.client, taskID, s.workerID, status, message)
		if err != nil {
			return err
		}
		return confirm(response.FinishTask.Status == status)
	})
}
