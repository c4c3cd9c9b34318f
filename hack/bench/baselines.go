// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/reporter"
)

// runInformerBaseline is the plain way with controller-runtime: its default
// cache, which keeps objects whole and copies each that it lists.
func runInformerBaseline(ctx context.Context, c *contest) error {
	informers, err := cache.New(c.config, cache.Options{Scheme: c.scheme})
	if err != nil {
		return err
	}
	for _, object := range []client.Object{&corev1.Pod{}, &styrminv1.StyrminDeployment{}} {
		if _, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	if err := every(ctx, func() error { return c.sendAll(ctx, informers) }); err != nil {
		return err
	}
	return <-ended
}

// runListBaseline is the plain way without a watch.
func runListBaseline(ctx context.Context, c *contest) error {
	direct, err := client.New(c.config, client.Options{Scheme: c.scheme})
	if err != nil {
		return err
	}
	return every(ctx, func() error { return c.sendAll(ctx, direct) })
}

// plainSnapshot is all that there is.
type plainSnapshot struct {
	Pods        []reporter.PodStatusInput
	Deployments []styrminv1.StyrminDeployment
}

// sendAll lists everything and sends it, as JSON that is compressed.
func (c *contest) sendAll(ctx context.Context, reader client.Reader) error {
	began := time.Now()
	pods, deployments := &corev1.PodList{}, &styrminv1.StyrminDeploymentList{}
	for _, list := range []client.ObjectList{pods, deployments} {
		if err := reader.List(ctx, list); err != nil {
			return err
		}
	}
	snapshot := plainSnapshot{Pods: make([]reporter.PodStatusInput, 0, len(pods.Items)), Deployments: deployments.Items}
	for i := range pods.Items {
		snapshot.Pods = append(snapshot.Pods, plainRow(&pods.Items[i]))
	}
	took := time.Since(began)
	text, err := json.Marshal(&snapshot)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	compressor := gzip.NewWriter(&body)
	if _, err := compressor.Write(text); err != nil {
		return err
	}
	if err := compressor.Close(); err != nil {
		return err
	}
	sent := body.Len()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.target, &body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("sending: %w", err)
	}
	_ = response.Body.Close()
	c.cycle(took, len(text), sent)
	return nil
}

// plainRow holds what the reporter tells of a pod, as far as it can be copied
// without thinking: the baselines have it easier.
func plainRow(pod *corev1.Pod) reporter.PodStatusInput {
	row := reporter.PodStatusInput{
		Uid: string(pod.UID), Name: pod.Name, Node: &pod.Spec.NodeName,
		Phase: string(pod.Status.Phase), Status: string(pod.Status.Phase),
		TotalContainers: len(pod.Spec.Containers), CreatedAt: pod.CreationTimestamp.Time,
	}
	if pod.Status.StartTime != nil {
		row.StartedAt = &pod.Status.StartTime.Time
	}
	for i := range pod.OwnerReferences {
		row.OwnerKind, row.OwnerName = &pod.OwnerReferences[i].Kind, &pod.OwnerReferences[i].Name
	}
	for kind, statuses := range map[reporter.ContainerKind][]corev1.ContainerStatus{
		reporter.ContainerKindInit: pod.Status.InitContainerStatuses,
		reporter.ContainerKindApp:  pod.Status.ContainerStatuses,
	} {
		for i := range statuses {
			row.Containers = append(row.Containers, plainContainer(kind, &statuses[i]))
			row.Restarts += int(statuses[i].RestartCount)
			if statuses[i].Ready {
				row.ReadyContainers++
			}
		}
	}
	return row
}

func plainContainer(kind reporter.ContainerKind, status *corev1.ContainerStatus) reporter.ContainerStatusInput {
	row := reporter.ContainerStatusInput{
		Name: status.Name, Kind: kind, Image: &status.Image, Ready: status.Ready,
		Restarts: int(status.RestartCount), State: reporter.ContainerStateWaiting,
	}
	switch state := &status.State; {
	case state.Running != nil:
		row.State, row.StartedAt = reporter.ContainerStateRunning, &state.Running.StartedAt.Time
	case state.Terminated != nil:
		row.State, row.Reason = reporter.ContainerStateTerminated, &state.Terminated.Reason
	case state.Waiting != nil:
		row.Reason, row.Message = &state.Waiting.Reason, &state.Waiting.Message
	}
	return row
}
