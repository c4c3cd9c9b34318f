// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Words of kubectl's STATUS column that are no phase and no reason of the API.
const (
	wordTerminating = "Terminating"
	wordUnknown     = "Unknown"
	wordRunning     = "Running"
	wordCompleted   = "Completed"
	wordNotReady    = "NotReady"
)

// reasonNodeLost is the reason that the node lifecycle controller writes on
// pods of a node that it cannot reach.
const reasonNodeLost = "NodeLost"

// reasonPodInitializing is what an application's container waits for while the
// init containers run; as the reason of an init container it says nothing.
const reasonPodInitializing = "PodInitializing"

// podSummary is a pod as `kubectl get pods` prints it (P8).
type podSummary struct {
	// word is the STATUS column.
	word string
	// ready and total are the READY column: sidecars count, init containers do not.
	ready, total int
	// restarts is the RESTARTS column: the init containers' while they run, the
	// sidecars' and the application's after that.
	restarts int64
}

// summarize reads the pod by the rules of kubectl's printer (P8). Init
// containers and sidecars are told apart by the spec alone: their statuses
// stand in the same list.
func summarize(pod *corev1.Pod) podSummary {
	sidecars := sidecarNames(pod)
	s := podSummary{
		word:  initialWord(pod),
		total: len(pod.Spec.Containers) + len(sidecars),
	}
	initialized, sidecarRestarts := s.readInitContainers(pod, sidecars)
	if initialized || isConditionTrue(pod, corev1.PodInitialized) {
		s.restarts = sidecarRestarts
		s.readContainers(pod)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == reasonNodeLost:
			s.word = wordUnknown
		case !isTerminal(pod.Status.Phase):
			s.word = wordTerminating
		}
	}
	if s.word == "" {
		s.word = wordUnknown
	}
	return s
}

// initialWord is the word of a pod whose containers say nothing.
func initialWord(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			return corev1.PodReasonSchedulingGated
		}
	}
	if pod.Status.Reason != "" {
		return pod.Status.Reason
	}
	return string(pod.Status.Phase)
}

// readInitContainers takes in the statuses of init containers and sidecars up
// to the first that is neither done nor, as a sidecar, started: that one gives
// the word. It tells whether there was none, and the restarts of the sidecars
// that it came past.
func (s *podSummary) readInitContainers(pod *corev1.Pod, sidecars map[string]bool) (initialized bool, sidecarRestarts int64) {
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		isSidecar := sidecars[status.Name]
		s.restarts += int64(status.RestartCount)
		if isSidecar {
			sidecarRestarts += int64(status.RestartCount)
		}
		terminated := status.State.Terminated
		if terminated != nil && terminated.ExitCode == 0 {
			continue
		}
		if isSidecar && status.Started != nil && *status.Started {
			if status.Ready {
				s.ready++
			}
			continue
		}
		waiting := status.State.Waiting
		switch {
		case terminated != nil:
			s.word = "Init:" + terminationWord(terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != reasonPodInitializing:
			s.word = "Init:" + waiting.Reason
		default:
			s.word = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return false, sidecarRestarts
	}
	return true, sidecarRestarts
}

// readContainers takes in the statuses of the application's containers. The
// first in the list that has something to say gives the word, but a pod is not
// Completed while one of its containers runs or after one of them failed.
func (s *podSummary) readContainers(pod *corev1.Pod) {
	running := false
	failure := ""
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		status := &pod.Status.ContainerStatuses[i]
		s.restarts += int64(status.RestartCount)
		switch {
		case status.State.Waiting != nil && status.State.Waiting.Reason != "":
			s.word = status.State.Waiting.Reason
		case status.State.Terminated != nil:
			s.word = terminationWord(status.State.Terminated)
			if status.State.Terminated.ExitCode != 0 {
				failure = s.word
			}
		case status.Ready && status.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.word != wordCompleted {
		return
	}
	switch {
	case running && isConditionTrue(pod, corev1.PodReady):
		s.word = wordRunning
	case failure != "":
		s.word = failure
	case running:
		s.word = wordNotReady
	}
}

// terminationWord names how a container ended.
func terminationWord(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

// sidecarNames returns the init containers that keep running beside the
// application: those that the kubelet restarts always.
func sidecarNames(pod *corev1.Pod) map[string]bool {
	var names map[string]bool
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if container.RestartPolicy == nil || *container.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if names == nil {
			names = make(map[string]bool, len(pod.Spec.InitContainers))
		}
		names[container.Name] = true
	}
	return names
}

// isConditionTrue tells whether the pod has the condition with status True.
func isConditionTrue(pod *corev1.Pod, conditionType corev1.PodConditionType) bool {
	condition := findCondition(pod, conditionType)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

// findCondition returns the pod's first condition of the type, nil without one.
func findCondition(pod *corev1.Pod, conditionType corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == conditionType {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// isTerminal tells whether a pod in this phase runs never again.
func isTerminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}
