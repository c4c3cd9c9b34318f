// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Which of a Deployment's revisions is the newest only its ReplicaSets say. They
// are listed only while pods of several revisions run and some fail, so the
// operator watches none.
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list

// annotationRevision is where a Deployment's controller numbers the revisions of
// its ReplicaSets; going back to an older template gives that a new number.
const annotationRevision = "deployment.kubernetes.io/revision"

const kindReplicaSet = "ReplicaSet"

// revisions are the newest revisions of workloads, by workload. While a mended
// spec rolls out, the broken pods of the revision before stay until the new ones
// are ready; they are no failure of the new spec.
type revisions map[string]revision

type revision struct {
	hash string
	// since is when the newest of its pods was created.
	since metav1.Time
	// known: the workload says that it is the newest. Else it is that of the
	// newest pod, which errs where a pod of an older revision was made anew.
	known bool
}

// newestRevisions returns the newest revisions that have live pods.
func newestRevisions(workloads []workload, pods []corev1.Pod) revisions {
	said := map[string]string{}
	for _, w := range workloads {
		if w.revision != "" {
			said[w.podOwner()] = w.revision
		}
	}
	newest := revisions{}
	for i := range pods {
		pod := &pods[i]
		owner, hash := revisionOf(pod)
		if hash == "" || !isLive(pod) {
			continue
		}
		this := revision{hash: hash, since: pod.CreationTimestamp, known: said[owner] == hash}
		seen, ok := newest[owner]
		if !ok || (this.known && !seen.known) || (this.known == seen.known && seen.since.Before(&this.since)) {
			newest[owner] = this
		}
	}
	return newest
}

// supersedes tells whether the pod is of a revision that has a newer one, and goes
// by itself. Pods of a StatefulSet need not: it waits for a broken one of an older
// revision, or keeps it for good (partition, OnDelete). Where pods have to tell,
// those of the same second are all new: which one came last is not known.
func (r revisions) supersedes(pod *corev1.Pod) bool {
	owner, hash := revisionOf(pod)
	newest, ok := r[owner]
	if !ok || hash == newest.hash || strings.HasPrefix(owner, kindStatefulSet+"/") {
		return false
	}
	return newest.known || pod.CreationTimestamp.Before(&newest.since)
}

// revisionOf returns which workload made the pod, as podOwner does, and from
// which revision of its template; an empty hash where nothing tells.
func revisionOf(pod *corev1.Pod) (owner, hash string) {
	by := metav1.GetControllerOf(pod)
	if by == nil {
		return "", ""
	}
	if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
		return by.Kind + "/" + strings.TrimSuffix(by.Name, "-"+hash), hash
	}
	return by.Kind + "/" + by.Name, pod.Labels[appsv1.ControllerRevisionHashLabelKey]
}

// podOwner names the workload as its pods do: those of a Deployment have a
// ReplicaSet for their owner, whose name begins with the Deployment's.
func (w *workload) podOwner() string {
	if w.kind == kindDeployment {
		return kindReplicaSet + "/" + w.name
	}
	return w.kind + "/" + w.name
}

// failsInTwoRevisions tells whether a pod fails beside those of another revision
// of its Deployment, so that it matters which one is the newest.
func failsInTwoRevisions(pods []corev1.Pod, now time.Time, calm time.Duration) bool {
	hashes, failing := map[string]string{}, map[string]bool{}
	mixed := map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		owner, hash := revisionOf(pod)
		if !isLive(pod) || !strings.HasPrefix(owner, kindReplicaSet+"/") {
			continue
		}
		if seen, ok := hashes[owner]; ok && seen != hash {
			mixed[owner] = true
		}
		hashes[owner] = hash
		if _, fails := failureOf(pod, now, calm, true); fails {
			failing[owner] = true
		}
		if mixed[owner] && failing[owner] {
			return true
		}
	}
	return false
}

// findRevisions notes the newest revisions of the namespace's Deployments. Where
// they may not be listed, the pods have to tell.
func (r *reconciler) findRevisions(ctx context.Context, namespace string, workloads []workload) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kindReplicaSet + "List"))
	if err := r.live.List(ctx, list, client.InNamespace(namespace)); apierrors.IsForbidden(err) {
		return nil // The review at the start says so (H02).
	} else if err != nil {
		return fmt.Errorf("listing the ReplicaSets of %s: %w", namespace, err)
	}
	newest := map[types.UID]int{}
	for i := range list.Items {
		set := &list.Items[i]
		by := metav1.GetControllerOf(set)
		number, err := strconv.Atoi(set.Annotations[annotationRevision])
		if by == nil || err != nil || number <= newest[by.UID] {
			continue
		}
		newest[by.UID] = number
		for j := range workloads {
			if workloads[j].uid == by.UID {
				workloads[j].revision = set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
			}
		}
	}
	return nil
}
