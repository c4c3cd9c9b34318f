// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// containerRows returns a row for each container of the pod: the init
// containers and sidecars, then the application's, each in the spec's order. A
// container without a status waits. Debug containers are no part of the
// application and are left out.
func containerRows(pod *corev1.Pod) []ContainerStatusInput {
	rows := make([]ContainerStatusInput, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	rows = appendContainers(rows, pod.Spec.InitContainers, pod.Status.InitContainerStatuses, initKind)
	return appendContainers(rows, pod.Spec.Containers, pod.Status.ContainerStatuses, appKind)
}

func initKind(container *corev1.Container) ContainerKind {
	if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		return ContainerKindSidecar
	}
	return ContainerKindInit
}

func appKind(*corev1.Container) ContainerKind {
	return ContainerKindApp
}

func appendContainers(
	rows []ContainerStatusInput,
	containers []corev1.Container,
	statuses []corev1.ContainerStatus,
	kind func(*corev1.Container) ContainerKind,
) []ContainerStatusInput {
	for i := range containers {
		container := &containers[i]
		status := findStatus(statuses, container.Name)
		if status == nil {
			status = &corev1.ContainerStatus{}
		}
		rows = append(rows, containerRow(container, kind(container), status))
	}
	return rows
}

func findStatus(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

// containerRow tells the container's present state and how it last ended; the
// image is the one that the spec asks for.
func containerRow(container *corev1.Container, kind ContainerKind, status *corev1.ContainerStatus) ContainerStatusInput {
	row := ContainerStatusInput{
		Name:     cleanText(container.Name),
		Kind:     kind,
		Image:    optionalText(container.Image),
		Ready:    status.Ready,
		Restarts: int(status.RestartCount),
		State:    ContainerStateWaiting,
	}
	state := &status.State
	switch {
	case state.Terminated != nil:
		row.State = ContainerStateTerminated
		row.Reason = optionalText(terminationWord(state.Terminated))
		row.Message = optionalText(state.Terminated.Message)
		row.ExitCode = ptr.To(int(state.Terminated.ExitCode))
		row.StartedAt = optionalTime(state.Terminated.StartedAt)
		row.FinishedAt = optionalTime(state.Terminated.FinishedAt)
	case state.Running != nil:
		row.State = ContainerStateRunning
		row.StartedAt = optionalTime(state.Running.StartedAt)
	case state.Waiting != nil:
		row.Reason = optionalText(state.Waiting.Reason)
		row.Message = optionalText(state.Waiting.Message)
	}
	if last := status.LastTerminationState.Terminated; last != nil {
		row.LastReason = optionalText(terminationWord(last))
		row.LastExitCode = ptr.To(int(last.ExitCode))
		row.LastFinishedAt = optionalTime(last.FinishedAt)
	}
	return row
}
