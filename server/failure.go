// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Bounds of a step's error.
const (
	maxNamedPods          = 5
	maxErrorBytes         = 4096
	maxContainerTextBytes = 256
)

const crashLoop = "CrashLoopBackOff"

// failureReasons are the reasons for which a container is named (R7).
var failureReasons = map[string]bool{
	"ImagePullBackOff":           true,
	"ErrImagePull":               true,
	"InvalidImageName":           true,
	crashLoop:                    true,
	"CreateContainerConfigError": true,
	"CreateContainerError":       true,
	"Error":                      true,
	"OOMKilled":                  true,
}

// failure is the error of a step that the report shows failing: the object's
// message and, for the steps that wait for pods, what is wrong with these (R7).
func (o observation) failure(stepName string) string {
	message := cmp.Or(optionalText(o.Message), noReason)
	reason := message
	if stepName == stepHelmRelease || stepName == stepReady {
		for _, pod := range failingPods(o.pods()) {
			reason += "; " + describePod(&pod, message)
		}
	}
	return CleanText(reason, maxErrorBytes)
}

// failingPods picks the pods that an error names: up to five that have a
// container with a listed reason. Live pods of the newest rollout come first,
// then other live ones, then finished ones, and those that are being deleted
// last; by name within each (R7).
func failingPods(pods []PodStatus) []PodStatus {
	newest := newestOwners(pods)
	rank := func(pod *PodStatus) int {
		switch {
		case pod.DeletionRequestedAt != nil:
			return 3
		case isFinished(pod):
			return 2
		case newest[ownerOf(pod)]:
			return 0
		default:
			return 1
		}
	}
	var failing []PodStatus
	for i := range pods {
		if slices.ContainsFunc(pods[i].Containers, func(c ContainerStatus) bool { return isFailing(&pods[i], &c) }) {
			failing = append(failing, pods[i])
		}
	}
	slices.SortFunc(failing, func(a, b PodStatus) int {
		return cmp.Or(
			cmp.Compare(rank(&a), rank(&b)),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.UID, b.UID),
		)
	})
	return failing[:min(len(failing), maxNamedPods)]
}

// isFailing tells whether the container waits or ended with a listed reason.
// The sidecars of a pod that has succeeded were merely stopped.
func isFailing(pod *PodStatus, container *ContainerStatus) bool {
	if container.State == ContainerStateRunning || !failureReasons[optionalText(container.Reason)] {
		return false
	}
	return container.Kind != ContainerKindSidecar || pod.Phase != string(corev1.PodSucceeded)
}

func isFinished(pod *PodStatus) bool {
	return pod.Phase == string(corev1.PodSucceeded) || pod.Phase == string(corev1.PodFailed)
}

// describePod names the pod with its failing containers, beside message.
func describePod(pod *PodStatus, message string) string {
	var containers []string
	for i := range pod.Containers {
		if isFailing(pod, &pod.Containers[i]) {
			containers = append(containers, describeContainer(&pod.Containers[i], message))
		}
	}
	return fmt.Sprintf("pod %s: %s", pod.Name, strings.Join(containers, ", "))
}

// describeContainer says what is wrong with a container: the kubelet's reason
// and what explains it.
func describeContainer(container *ContainerStatus, message string) string {
	text := fmt.Sprintf("container %s %s", container.Name, *container.Reason)
	if container.Kind == ContainerKindInit {
		text = "init " + text
	}
	if detail := explain(container, message); detail != "" {
		text += " (" + detail + ")"
	}
	return text
}

// explain says how a container ended, or why it waits. The message of a crash
// loop is only the length of the pause: the end before it says more, and stays
// the same from report to report. What message has word for word is left out.
func explain(container *ContainerStatus, message string) string {
	switch {
	case container.State == ContainerStateTerminated:
		return exitCode(container.ExitCode)
	case *container.Reason == crashLoop:
		ended := optionalText(container.LastReason)
		return strings.Trim(ended+", "+exitCode(container.LastExitCode), ", ")
	default:
		text := strings.TrimSpace(CleanText(optionalText(container.Message), maxContainerTextBytes))
		if strings.Contains(message, text) {
			return ""
		}
		return text
	}
}

func exitCode(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf("exit code %d", *code)
}
