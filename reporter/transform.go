// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// podTransform is a cache transform that keeps of a pod what the report and the
// operator need, and nothing that is not on its list (P7): what identifies the
// pod, where it runs, the names and images of its containers, and its status
// without addresses, volumes and resources. Texts that many pods share are kept
// once. What is no pod is returned as it is.
func podTransform(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	*pod = corev1.Pod{
		ObjectMeta: keepPodMeta(&pod.ObjectMeta),
		Spec:       keepPodSpec(&pod.Spec),
		Status:     keepPodStatus(&pod.Status),
	}
	return pod, nil
}

// CacheByObject returns how the manager's cache keeps the kinds that are
// reported: cluster-wide, since the reporter limits what it reports itself.
func CacheByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:                  {Transform: podTransform},
		&styrminv1.StyrminDeployment{}: {Transform: deploymentTransform},
	}
}

// deploymentTransform is a cache transform that drops a
// StyrminDeployment's managed fields. The operator needs the rest. What is no
// StyrminDeployment is returned as it is.
func deploymentTransform(obj any) (any, error) {
	if deployment, ok := obj.(*styrminv1.StyrminDeployment); ok {
		deployment.ManagedFields = nil
	}
	return obj, nil
}

func keepPodMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{
		Name:                       meta.Name,
		Namespace:                  shared(meta.Namespace),
		UID:                        meta.UID,
		ResourceVersion:            meta.ResourceVersion,
		Generation:                 meta.Generation,
		CreationTimestamp:          meta.CreationTimestamp,
		DeletionTimestamp:          meta.DeletionTimestamp,
		DeletionGracePeriodSeconds: meta.DeletionGracePeriodSeconds,
		OwnerReferences:            keepOwners(meta.OwnerReferences),
		Labels:                     keepLabels(meta.Labels),
	}
	return kept
}

func keepPodSpec(spec *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:        shared(spec.NodeName),
		SchedulingGates: spec.SchedulingGates,
		InitContainers:  keepContainers(spec.InitContainers),
		Containers:      keepContainers(spec.Containers),
	}
}

func keepContainers(containers []corev1.Container) []corev1.Container {
	if len(containers) == 0 {
		return nil
	}
	return podContainers.get(containersKey(containers), func() []corev1.Container { return copyContainers(containers) })
}

func copyContainers(containers []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(containers))
	for i := range containers {
		kept[i] = corev1.Container{
			Name:          shared(containers[i].Name),
			Image:         shared(containers[i].Image),
			RestartPolicy: containers[i].RestartPolicy,
		}
	}
	return kept
}

func keepPodStatus(status *corev1.PodStatus) corev1.PodStatus {
	return corev1.PodStatus{
		Phase:                 corev1.PodPhase(shared(string(status.Phase))),
		Reason:                shared(status.Reason),
		Message:               status.Message,
		StartTime:             status.StartTime,
		Conditions:            keepConditions(status.Conditions),
		InitContainerStatuses: keepContainerStatuses(status.InitContainerStatuses),
		ContainerStatuses:     keepContainerStatuses(status.ContainerStatuses),
	}
}

// keepConditions keeps the conditions that say how far the pod has come. Each
// pod has others, which repeat these.
func keepConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for i := range conditions {
		condition := &conditions[i]
		switch condition.Type {
		case corev1.PodScheduled, corev1.PodInitialized, corev1.PodReady:
		default:
			continue
		}
		if kept == nil {
			kept = make([]corev1.PodCondition, 0, 3)
		}
		kept = append(kept, corev1.PodCondition{
			Type:               corev1.PodConditionType(shared(string(condition.Type))),
			Status:             corev1.ConditionStatus(shared(string(condition.Status))),
			Reason:             shared(condition.Reason),
			Message:            condition.Message,
			LastTransitionTime: condition.LastTransitionTime,
		})
	}
	return kept
}

func keepContainerStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	if len(statuses) == 0 {
		return nil
	}
	kept := make([]corev1.ContainerStatus, len(statuses))
	for i := range statuses {
		status := &statuses[i]
		kept[i] = corev1.ContainerStatus{
			Name:                 shared(status.Name),
			Image:                shared(status.Image),
			State:                keepContainerState(status.State),
			LastTerminationState: keepContainerState(status.LastTerminationState),
			Ready:                status.Ready,
			RestartCount:         status.RestartCount,
			Started:              status.Started,
		}
	}
	return kept
}

func keepContainerState(state corev1.ContainerState) corev1.ContainerState {
	if state.Waiting != nil {
		state.Waiting.Reason = shared(state.Waiting.Reason)
	}
	if state.Terminated != nil {
		state.Terminated.Reason = shared(state.Terminated.Reason)
		state.Terminated.ContainerID = ""
	}
	return state
}
