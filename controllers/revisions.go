// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// revisions are the newest revisions of workloads, by workload: those of the
// newest of their live pods. While a mended spec rolls out, the broken pods of
// the revision before stay until the new ones are ready; they are no failure of
// the new spec.
type revisions map[string]revision

type revision struct {
	hash string
	// since is when the newest pod of the revision was created.
	since metav1.Time
}

func newestRevisions(pods []corev1.Pod) revisions {
	newest := revisions{}
	for i := range pods {
		pod := &pods[i]
		workload, hash := revisionOf(pod)
		if hash == "" || !isLive(pod) {
			continue
		}
		if seen, ok := newest[workload]; !ok || seen.since.Before(&pod.CreationTimestamp) {
			newest[workload] = revision{hash: hash, since: pod.CreationTimestamp}
		}
	}
	return newest
}

// supersedes tells whether the pod is of a revision that has a newer one. Pods
// of the same second are both new: which one came last cannot be told.
func (r revisions) supersedes(pod *corev1.Pod) bool {
	workload, hash := revisionOf(pod)
	newest, ok := r[workload]
	return ok && hash != newest.hash && pod.CreationTimestamp.Before(&newest.since)
}

// revisionOf returns which workload made the pod, and from which revision of its
// template; an empty hash where nothing tells.
func revisionOf(pod *corev1.Pod) (workload, hash string) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "", ""
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
		return owner.Kind + "/" + strings.TrimSuffix(owner.Name, "-"+hash), hash
	}
	return owner.Kind + "/" + owner.Name, pod.Labels[appsv1.ControllerRevisionHashLabelKey]
}
