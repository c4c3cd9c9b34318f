// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// patchType is the one by which a kubelet writes statuses.
const patchType = types.StrategicMergePatchType

// started is when all that runs was started.
var started = metav1.NewTime(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))

// deployment is a StyrminDeployment that runs, whose pods are in the namespace.
func deployment(namespace string) *styrminv1.StyrminDeployment {
	return &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: namespace},
		Spec: styrminv1.StyrminDeploymentSpec{
			Environment: "prod", TargetNamespace: namespace, Version: "2.4.1",
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "app",
				Chart:       styrminv1.ChartSpec{Repository: "https://charts.example", Name: "app", Version: "2.4.1"},
			},
			Components: []styrminv1.ComponentSpec{{
				Name: "server", Replicas: 3,
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/component": "server"}},
			}},
		},
		Status: styrminv1.StyrminDeploymentStatus{
			Phase: styrminv1.PhaseReady, DisplayState: styrminv1.DisplayStateRunning,
			Conditions: []metav1.Condition{
				ready(styrminv1.ConditionPrerequisitesReady), ready(styrminv1.ConditionHelmReleaseReady),
				ready(styrminv1.ConditionServicesReady), ready(styrminv1.ConditionReady),
			},
			Components: []styrminv1.ComponentStatus{{Name: "server", Desired: 3, Ready: 3, State: styrminv1.ComponentRunning}},
		},
	}
}

func ready(conditionType string) metav1.Condition {
	return metav1.Condition{
		Type: conditionType, Status: metav1.ConditionTrue, Reason: styrminv1.ReasonSucceeded,
		ObservedGeneration: 1, LastTransitionTime: started,
	}
}

// pod is the i-th pod: a server with a sidecar and an init container, as a
// ReplicaSet makes it and a kubelet runs it, of 7.4 KB in JSON before the API
// server adds its defaults and managed fields.
func pod(namespace string, i int) *corev1.Pod {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      fmt.Sprintf("app-server-%x-%05d", 0x6d5f8c7b+i/40, i),
			Labels: map[string]string{
				"app.kubernetes.io/name": "app", "app.kubernetes.io/instance": namespace, "app.kubernetes.io/component": "server",
				"app.kubernetes.io/version": "2.4.1", "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "app-2.4.1",
				"pod-template-hash": fmt.Sprintf("%x", 0x6d5f8c7b+i/40), "team": fmt.Sprintf("team-%d", i%17),
			},
			Annotations: map[string]string{ //nolint:gosec // Checksums, no credentials.
				"checksum/config":      "8f14e45fceea167a5a36dedd4bea2543f14e45fceea167a5a36dedd4bea2543a",
				"checksum/secret":      "c9f0f895fb98ab9159f51fd0297e236df0f895fb98ab9159f51fd0297e236da1",
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"kubectl.kubernetes.io/restartedAt": "2026-11-28T09:12:44Z",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("app-server-%x", 0x6d5f8c7b+i/40),
				UID: types.UID(fmt.Sprintf("1b671a64-40d5-491e-99b0-%012d", i/40)), Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{
			InitContainers:                []corev1.Container{container("migrate", i)},
			Containers:                    []corev1.Container{container("server", i), container("proxy", i)},
			Volumes:                       volumes(namespace),
			NodeName:                      fmt.Sprintf("node-%03d", i/40),
			ServiceAccountName:            "app",
			TerminationGracePeriodSeconds: ptr.To[int64](30),
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](300)},
			},
		},
	}
	object.Status = status(object, i)
	return object
}

func container(name string, i int) corev1.Container {
	c := corev1.Container{
		Name: name, Image: fmt.Sprintf("registry.example/team-%d/%s:2.4.1", i%17, name),
		Args: []string{"--config=/etc/app/config.yaml", "--log-level=info", "--listen=:8080"},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/app", ReadOnly: true}, {Name: "secret", MountPath: "/etc/secret", ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"},
		},
		SecurityContext: &corev1.SecurityContext{RunAsNonRoot: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false)},
	}
	for _, key := range []string{"DATABASE_URL", "CACHE_URL", "QUEUE_URL", "LOG_FORMAT", "REGION", "FEATURES", "TRACING_ENDPOINT", "POOL_SIZE"} {
		c.Env = append(c.Env, corev1.EnvVar{Name: key, Value: "value-of-" + key + "-as-it-is-in-production"})
	}
	if name != "migrate" {
		probe := &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}},
			PeriodSeconds: 10, TimeoutSeconds: 2, FailureThreshold: 3,
		}
		c.ReadinessProbe, c.LivenessProbe = probe, probe
	}
	return c
}

func volumes(namespace string) []corev1.Volume {
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: namespace + "-config"},
		}}},
		{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: namespace + "-secret"}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
}

// status is that of a pod that runs.
func status(object *corev1.Pod, i int) corev1.PodStatus {
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &started, HostIP: fmt.Sprintf("10.0.%d.%d", i/40/250, i/40%250),
		PodIP: fmt.Sprintf("10.%d.%d.%d", 1+i/62500, i/250%250, i%250), QOSClass: corev1.PodQOSBurstable,
	}
	s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	for _, conditionType := range []corev1.PodConditionType{
		corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady, corev1.PodReadyToStartContainers,
	} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: conditionType, Status: corev1.ConditionTrue, LastTransitionTime: started})
	}
	s.InitContainerStatuses = []corev1.ContainerStatus{containerStatus(&object.Spec.InitContainers[0], i)}
	s.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: "Completed", StartedAt: started, FinishedAt: started, ContainerID: s.InitContainerStatuses[0].ContainerID,
	}}
	for at := range object.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, containerStatus(&object.Spec.Containers[at], i))
	}
	return s
}

func containerStatus(c *corev1.Container, i int) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, Ready: true, Started: ptr.To(true),
		ImageID:     c.Image + "@sha256:8f14e45fceea167a5a36dedd4bea2543f14e45fceea167a5a36dedd4bea25438",
		ContainerID: fmt.Sprintf("containerd://%064x", i),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
	}
}

// statusPatch makes the pod's first container crash in even rounds, and run
// again in odd ones.
func statusPatch(object *corev1.Pod, round int) []byte {
	ready, restarts := corev1.ConditionFalse, 1+round/2
	state := map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}}
	if round%2 == 1 {
		ready = corev1.ConditionTrue
		state = map[string]any{"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}, "waiting": nil}
	}
	status := object.Status.DeepCopy()
	containers := make([]any, 0, len(status.ContainerStatuses))
	for i := range status.ContainerStatuses {
		containers = append(containers, status.ContainerStatuses[i])
	}
	first := status.ContainerStatuses[0]
	containers[0] = map[string]any{
		"name": first.Name, "image": first.Image, "imageID": first.ImageID, "containerID": first.ContainerID,
		"ready": ready == corev1.ConditionTrue, "started": true, "restartCount": restarts, "state": state,
		"lastState": map[string]any{"terminated": map[string]any{"reason": "Error", "exitCode": 1, "finishedAt": started}},
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"conditions":        []any{map[string]any{"type": corev1.PodReady, "status": ready, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}},
		"containerStatuses": containers,
	}})
	if err != nil {
		panic(err) // It is made of nothing but text, numbers and API objects.
	}
	return patch
}
