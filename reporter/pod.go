// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podRow returns what the server is told about the pod. component is the
// component that the pod belongs to, empty for none. The pod is not changed.
func podRow(pod *corev1.Pod, component string) PodStatusInput {
	summary := summarize(pod)
	row := PodStatusInput{
		Uid:                 cleanText(string(pod.UID)),
		Name:                cleanText(pod.Name),
		Node:                optionalText(pod.Spec.NodeName),
		Phase:               cleanText(string(pod.Status.Phase)),
		Status:              cleanText(summary.word),
		Message:             optionalText(podMessage(pod)),
		Ready:               isReady(pod),
		ReadyContainers:     summary.ready,
		TotalContainers:     summary.total,
		Restarts:            clampInt(summary.restarts),
		CreatedAt:           requiredTime(pod.CreationTimestamp),
		DeletionRequestedAt: deletionRequestedAt(pod),
		Component:           optionalText(component),
		Containers:          containerRows(pod),
	}
	if row.Phase == "" {
		row.Phase = string(corev1.PodUnknown)
	}
	if pod.Status.StartTime != nil {
		row.StartedAt = optionalTime(*pod.Status.StartTime)
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		row.OwnerKind = optionalText(owner.Kind)
		row.OwnerName = optionalText(owner.Name)
	}
	return row
}

// isReady tells whether the pod serves: by its Ready condition, since the flags
// of its containers stay as they were when a node is lost, and not while it is
// being deleted (P8).
func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && isConditionTrue(pod, corev1.PodReady)
}

// deletionRequestedAt returns when the pod's deletion was requested. The API
// keeps the time at which the grace period will have ended.
func deletionRequestedAt(obj metav1.Object) *time.Time {
	deadline := obj.GetDeletionTimestamp()
	if deadline == nil {
		return nil
	}
	var grace time.Duration
	if seconds := obj.GetDeletionGracePeriodSeconds(); seconds != nil && *seconds > 0 && *seconds <= maxGraceSeconds {
		grace = time.Duration(*seconds) * time.Second
	}
	return optionalTime(metav1.NewTime(deadline.Add(-grace)))
}

// maxGraceSeconds is the longest grace period that is believed: a year.
const maxGraceSeconds = 366 * 24 * 60 * 60

// podMessage says why the pod is not what it should be: the pod's own message;
// else the one of a container that waits or failed; else that of the condition
// that holds the pod up.
func podMessage(pod *corev1.Pod) string {
	if pod.Status.Message != "" {
		return pod.Status.Message
	}
	if message := containerMessage(pod.Status.InitContainerStatuses); message != "" {
		return message
	}
	if message := containerMessage(pod.Status.ContainerStatuses); message != "" {
		return message
	}
	if scheduled := findCondition(pod, corev1.PodScheduled); scheduled != nil && scheduled.Status != corev1.ConditionTrue {
		return schedulingMessage(pod, scheduled)
	}
	if ready := findCondition(pod, corev1.PodReady); ready != nil && ready.Status != corev1.ConditionTrue && !isTerminal(pod.Status.Phase) {
		return ready.Message
	}
	return ""
}

// containerMessage returns the message of the first container that waits or
// ended in failure.
func containerMessage(statuses []corev1.ContainerStatus) string {
	for i := range statuses {
		state := &statuses[i].State
		switch {
		case state.Waiting != nil && state.Waiting.Message != "":
			return state.Waiting.Message
		case state.Terminated != nil && state.Terminated.ExitCode != 0 && state.Terminated.Message != "":
			return state.Terminated.Message
		}
	}
	return ""
}

// schedulingMessage tells why the pod has no node: the scheduler's reason and
// message, or a text of our own where it gives none.
func schedulingMessage(pod *corev1.Pod, scheduled *corev1.PodCondition) string {
	message := scheduled.Message
	if message == "" && scheduled.Reason == corev1.PodReasonSchedulingGated {
		gates := make([]string, 0, len(pod.Spec.SchedulingGates))
		for _, gate := range pod.Spec.SchedulingGates {
			gates = append(gates, gate.Name)
		}
		message = "waits for its scheduling gates to be removed: " + strings.Join(gates, ", ")
	}
	if message == "" {
		message = "no node has been found for the pod"
	}
	if scheduled.Reason == "" {
		return message
	}
	return scheduled.Reason + ": " + message
}
