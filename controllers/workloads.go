// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets,verbs=list;watch

const (
	kindDeployment  = "Deployment"
	kindStatefulSet = "StatefulSet"
	kindDaemonSet   = "DaemonSet"
)

// workload is what readiness needs of a Deployment, StatefulSet or DaemonSet.
type workload struct {
	kind, name string
	uid        types.UID
	// podLabels are those of its pod template.
	podLabels labels.Set
	// declared is how many pods it is told to run, observed how many it has.
	declared, observed int32
	// state and message are kstatus's.
	state   status.Status
	message string
	// revision is the hash of a Deployment's newest revision, where it was looked
	// for.
	revision string
	// failedAt is when its progress deadline passed; zero where none has.
	failedAt time.Time
	// autoscaler is the HorizontalPodAutoscaler that scales it, where one was
	// looked for and found.
	autoscaler string
}

// failedWorkload names a workload whose progress deadline passed after a time,
// that at which a rollout began. One that passed before is the older spec's: the
// condition stays until Helm has written the workload anew.
func failedWorkload(workloads []workload, begun time.Time) string {
	for _, w := range workloads {
		if w.state == status.FailedStatus && (begun.IsZero() || w.failedAt.After(begun)) {
			return fmt.Sprintf("%s %s: %s", w.kind, w.name, w.message)
		}
	}
	return ""
}

// deadlinePassedAt is when a Deployment's progress deadline passed, zero where
// it has not. Of the workloads only Deployments have one.
func deadlinePassedAt(d *appsv1.Deployment) time.Time {
	for i := range d.Status.Conditions {
		c := &d.Status.Conditions[i]
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// listWorkloads reads the namespace's workloads from the cache.
func (r *reconciler) listWorkloads(ctx context.Context, namespace string) ([]workload, error) {
	var (
		deployments  appsv1.DeploymentList
		statefulSets appsv1.StatefulSetList
		daemonSets   appsv1.DaemonSetList
		workloads    []workload
	)
	for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets} {
		if err := r.cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the workloads of %s: %w", namespace, err)
		}
	}
	add := func(obj client.Object, kind string, template *corev1.PodTemplateSpec, declared, observed int32) error {
		state, err := computeStatus(obj, appsv1.SchemeGroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		workloads = append(workloads, workload{
			kind: kind, name: obj.GetName(), uid: obj.GetUID(), podLabels: template.Labels,
			declared: declared, observed: observed, state: state.Status, message: state.Message,
		})
		return nil
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if err := add(d, kindDeployment, &d.Spec.Template, replicas(d.Spec.Replicas), d.Status.Replicas); err != nil {
			return nil, err
		}
		workloads[i].failedAt = deadlinePassedAt(d)
	}
	for i := range statefulSets.Items {
		d := &statefulSets.Items[i]
		if err := add(d, kindStatefulSet, &d.Spec.Template, replicas(d.Spec.Replicas), d.Status.Replicas); err != nil {
			return nil, err
		}
	}
	for i := range daemonSets.Items {
		d := &daemonSets.Items[i]
		if err := add(d, kindDaemonSet, &d.Spec.Template, d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled); err != nil {
			return nil, err
		}
	}
	return workloads, nil
}

// computeStatus is kstatus's view of an object.
func computeStatus(obj client.Object, kind schema.GroupVersionKind) (*status.Result, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	result, err := status.Compute(u)
	if err != nil {
		return nil, fmt.Errorf("computing the status of %s %s: %w", kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
	return result, nil
}

// replicas is a workload's declared number; the API's default is one.
func replicas(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
