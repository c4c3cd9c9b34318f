// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxPodMessage is how much of a container's message a failure tells, from its end.
const maxPodMessage = 1024

// jobEnd tells whether the Job has come to its end, and why it failed, "" where it
// did not.
func jobEnd(job *batchv1.Job) (ended bool, failure string) {
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return true, ""
		case batchv1.JobFailed:
			return true, cmp.Or(join(": ", condition.Reason, condition.Message), "no reason was given")
		}
	}
	return false, ""
}

// jobFailure is why the step that ran the Job has failed.
func jobFailure(key client.ObjectKey, failure, trouble string) error {
	return permanently("%s", join("; ", fmt.Sprintf("Job %s failed: %s", key, failure), trouble))
}

// podTrouble tells what is wrong with the newest pod that shows it, "" where none
// does.
func podTrouble(pods []corev1.Pod) string {
	newestFirst := slices.Clone(pods)
	slices.SortFunc(newestFirst, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range newestFirst {
		pod := &newestFirst[i]
		if trouble := troubleOf(pod); trouble != "" {
			return fmt.Sprintf("pod %s: %s", pod.Name, trouble)
		}
	}
	return ""
}

func troubleOf(pod *corev1.Pod) string {
	var troubles []string
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		// A container that is to run again tells of its last run.
		if trouble := join(", last run: ", containerTrouble(status.State), containerTrouble(status.LastTerminationState)); trouble != "" {
			troubles = append(troubles, fmt.Sprintf("container %s: %s", status.Name, trouble))
		}
	}
	if len(troubles) > 0 {
		return strings.Join(troubles, ", ")
	}
	if pod.Status.Reason != "" {
		return join(": ", pod.Status.Reason, tail(pod.Status.Message))
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return join(": ", condition.Reason, tail(condition.Message))
		}
	}
	return ""
}

// containerTrouble tells what is wrong with a container that has failed or cannot
// start, "" for any other.
func containerTrouble(state corev1.ContainerState) string {
	switch {
	case state.Terminated != nil && state.Terminated.ExitCode != 0:
		ended := state.Terminated
		return join(": ", fmt.Sprintf("%s, exit code %d", cmp.Or(ended.Reason, "Error"), ended.ExitCode), tail(ended.Message))
	case state.Waiting == nil:
		return ""
	}
	switch state.Waiting.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return ""
	}
	return join(": ", state.Waiting.Reason, tail(state.Waiting.Message))
}

// tail is the end of a message, where a log says what went wrong.
func tail(message string) string {
	message = strings.TrimSpace(message)
	if len(message) > maxPodMessage {
		message = "…" + strings.ToValidUTF8(message[len(message)-maxPodMessage:], "")
	}
	return message
}

// join joins the parts that are not empty.
func join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}
