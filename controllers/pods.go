// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxCrashLoopRun is the run from which on kubelet starts its back-off anew: a
// container that ran longer before it ended is not in a crash loop.
const maxCrashLoopRun = 10 * time.Minute

// Reasons that a container shows when it waits or ended and that count as a
// failure of its pod; the server names pods by the same list (R7).
const (
	reasonImagePullBackOff     = "ImagePullBackOff"
	reasonErrImagePull         = "ErrImagePull"
	reasonInvalidImageName     = "InvalidImageName"
	reasonCrashLoopBackOff     = "CrashLoopBackOff"
	reasonContainerConfigError = "CreateContainerConfigError"
	reasonContainerError       = "CreateContainerError"
	reasonError                = "Error"
	reasonOOMKilled            = "OOMKilled"
)

// podFailure is a container of a pod that shows a listed failure, or has
// restarted after one too recently to be believed.
type podFailure struct {
	pod       string
	container string
	// visible: the failure shows right now; else the container has restarted.
	visible bool
	// what is the failure in words that stay the same while it lasts, though its
	// reason flips: ErrImagePull and ImagePullBackOff are one (A03), and so are
	// the states of a crash loop (A01).
	what string
	// detail is kubelet's own message where it says more than that it backs off.
	detail string
}

// podFailures returns the failures of the pods that count, in the order of the
// pods' names. calm is how long a restarted container must have run to count as
// recovered; outlive says that it must outlive the run that failed, too.
func podFailures(workloads []workload, pods []corev1.Pod, now time.Time, calm time.Duration, outlive, jobsCount bool) []podFailure {
	var failures []podFailure
	newest := newestRevisions(workloads, pods)
	for i := range pods {
		pod := &pods[i]
		if !isLive(pod) || (isOfJob(pod) && !jobsCount) || newest.supersedes(pod) {
			continue
		}
		if f, ok := failureOf(pod, now, calm, outlive); ok {
			failures = append(failures, f)
		}
	}
	slices.SortStableFunc(failures, func(a, b podFailure) int { return strings.Compare(a.pod, b.pod) })
	return failures
}

// failureOf returns the pod's first failing container, init containers first: the
// others wait for those (A04).
func failureOf(pod *corev1.Pod, now time.Time, calm time.Duration, outlive bool) (podFailure, bool) {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			c := &statuses[i]
			f := podFailure{pod: pod.Name, container: c.Name}
			switch {
			case c.State.Waiting != nil:
				f.what, f.detail = describeWaiting(c)
				f.visible = true
			case c.State.Terminated != nil:
				f.what = describeEnd(c.State.Terminated)
				f.visible = true
			case c.State.Running != nil && hasRestartedJustNow(c, now, calm, outlive):
				f.what = describeEnd(c.LastTerminationState.Terminated)
			}
			if f.what != "" {
				return f, true
			}
		}
	}
	return podFailure{}, false
}

// describeWaiting returns a listed failure of a container that waits, or "".
func describeWaiting(c *corev1.ContainerStatus) (what, detail string) {
	w := c.State.Waiting
	switch w.Reason {
	case reasonErrImagePull:
		return fmt.Sprintf("cannot pull image %s", c.Image), w.Message
	case reasonImagePullBackOff:
		return fmt.Sprintf("cannot pull image %s", c.Image), ""
	case reasonInvalidImageName:
		return fmt.Sprintf("has the invalid image name %q", c.Image), ""
	case reasonContainerConfigError, reasonContainerError:
		return "cannot be created", w.Message
	case reasonCrashLoopBackOff:
		if what := describeEnd(c.LastTerminationState.Terminated); what != "" {
			return what, ""
		}
		return "keeps crashing", ""
	default:
		return "", ""
	}
}

// describeEnd returns a listed failure of a container that ended, or "".
func describeEnd(t *corev1.ContainerStateTerminated) string {
	switch {
	case t == nil:
		return ""
	case t.Reason == reasonOOMKilled:
		return "keeps running out of memory (OOMKilled)"
	case t.Reason == reasonError:
		return fmt.Sprintf("keeps crashing (exit code %d)", t.ExitCode)
	default:
		return ""
	}
}

// hasRestartedJustNow tells whether a running container that failed before has
// run too shortly to count as recovered. Where it must outlive its last run, a
// crash loop gives one steady failure however long each run takes (O4).
func hasRestartedJustNow(c *corev1.ContainerStatus, now time.Time, calm time.Duration, outlive bool) bool {
	last := c.LastTerminationState.Terminated
	if describeEnd(last) == "" {
		return false
	}
	run := last.FinishedAt.Sub(last.StartedAt.Time)
	if outlive && run > 0 && run < maxCrashLoopRun {
		calm += run
	}
	return now.Sub(c.State.Running.StartedAt.Time) < calm
}

// isLive tells whether the pod is to stay: it has not ended, nor is it on its way
// out.
func isLive(pod *corev1.Pod) bool {
	return !isFinished(pod) && pod.DeletionTimestamp.IsZero()
}

// isFinished tells whether the pod has ended for good: what is left of an
// earlier try says nothing about those that matter (A11).
func isFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// isOfJob tells whether a Job made the pod.
func isOfJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// isReady is the pod's Ready condition: the containers' own flags stay up on a
// node that is lost (A09). A pod that is on its way out is not ready (A10).
func isReady(pod *corev1.Pod) bool {
	if !pod.DeletionTimestamp.IsZero() {
		return false
	}
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return pod.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// schedulingProblem returns why the pod has no node, or "" (A12).
func schedulingProblem(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		if c.Message == "" {
			return c.Reason
		}
		return c.Reason + ": " + c.Message
	}
	return ""
}

// describeFailures names the first failing pod and counts the others. The text
// that was shown before is kept while it is about the same failure, so that a
// detail that comes and goes changes nothing (A03).
func describeFailures(failures []podFailure, before string) string {
	f := failures[0]
	text := fmt.Sprintf("pod %s: container %s %s", f.pod, f.container, f.what)
	if len(failures) > 1 {
		text = fmt.Sprintf("%d pods fail; %s", len(failures), text)
	}
	if before == text || strings.HasPrefix(before, text+": ") {
		return before
	}
	if f.detail == "" {
		return text
	}
	return text + ": " + f.detail
}
