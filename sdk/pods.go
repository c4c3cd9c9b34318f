// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
	"time"
)

// Pod is a pod of a deployment as observed.
type Pod struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Component of the deployment whose selector matches the pod, if any.
	Component string `json:"component,omitempty"`
	Node      string `json:"node,omitempty"`
	Phase     string `json:"phase"`
	// Status is one word for people, as kubectl's STATUS column has it.
	Status              string      `json:"status"`
	Message             string      `json:"message,omitempty"`
	Ready               bool        `json:"ready"`
	ReadyContainers     int         `json:"readyContainers"`
	TotalContainers     int         `json:"totalContainers"`
	Restarts            int         `json:"restarts"`
	CreatedAt           time.Time   `json:"createdAt,omitzero"`
	StartedAt           time.Time   `json:"startedAt,omitzero"`
	DeletionRequestedAt time.Time   `json:"deletionRequestedAt,omitzero"`
	Containers          []Container `json:"containers"`
}

// Container is a container of a pod as observed.
type Container struct {
	Name string `json:"name"`
	// Kind is INIT, SIDECAR or APP.
	Kind     string `json:"kind"`
	Image    string `json:"image,omitempty"`
	Ready    bool   `json:"ready"`
	Restarts int    `json:"restarts"`
	// State is WAITING, RUNNING or TERMINATED; Reason and Message say why.
	State      string    `json:"state"`
	Reason     string    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"`
	ExitCode   *int      `json:"exitCode,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// What is known of the run before this one.
	LastReason     string    `json:"lastReason,omitempty"`
	LastExitCode   *int      `json:"lastExitCode,omitempty"`
	LastFinishedAt time.Time `json:"lastFinishedAt,omitzero"`
}

// podPage is how many pods are asked for at once.
const podPage = 500

// podRow is a pod with its place in the list.
type podRow struct {
	Pod
	Cursor string `json:"cursor"`
}

type podFilter struct {
	DeploymentID string `json:"deploymentId"`
	Unhealthy    bool   `json:"unhealthy,omitempty"`
}

// Pods lists the observed pods of a deployment by name.
func (s *DeploymentsService) Pods(ctx context.Context, id string) ([]Pod, error) {
	return s.pods(ctx, podFilter{DeploymentID: id})
}

// UnhealthyPods lists those that are neither ready nor have succeeded.
func (s *DeploymentsService) UnhealthyPods(ctx context.Context, id string) ([]Pod, error) {
	return s.pods(ctx, podFilter{DeploymentID: id, Unhealthy: true})
}

func (s *DeploymentsService) pods(ctx context.Context, filter podFilter) ([]Pod, error) {
	pods, after := []Pod{}, ""
	for {
		page, err := retry(ctx, s.client, func(ctx context.Context) (*listPodsResponse, error) {
			return listPods(ctx, s.client.graphql, filter, podPage, after)
		})
		if err != nil {
			return nil, fmt.Errorf("listing the pods of deployment %s: %w", filter.DeploymentID, err)
		}
		for i := range page.PodStatuses {
			pods = append(pods, page.PodStatuses[i].Pod)
			after = page.PodStatuses[i].Cursor
		}
		if len(page.PodStatuses) < podPage {
			return pods, nil
		}
	}
}
