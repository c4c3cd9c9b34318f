// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var serverLabels = map[string]string{"app": "server"}

// pod makes a pod of the component server with one container; change is done to
// both.
func pod(name string, ready bool, change func(*corev1.Pod, *corev1.ContainerStatus)) corev1.Pod {
	readiness := corev1.ConditionFalse
	if ready {
		readiness = corev1.ConditionTrue
	}
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: serverLabels},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: readiness}},
		},
	}
	c := corev1.ContainerStatus{Name: "app", Image: "registry.test/app:1", Ready: ready}
	c.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon.Add(-time.Hour))}
	if change != nil {
		change(&p, &c)
	}
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, c)
	return p
}

func waitingFor(reason, message string) func(*corev1.Pod, *corev1.ContainerStatus) {
	return func(_ *corev1.Pod, c *corev1.ContainerStatus) {
		c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
}

// ofRevision makes the pod one of a workload's revision, created after noon.
func ofRevision(kind, owner, hash string, after time.Duration, more func(*corev1.Pod, *corev1.ContainerStatus)) func(*corev1.Pod, *corev1.ContainerStatus) {
	return func(p *corev1.Pod, c *corev1.ContainerStatus) {
		controller, key := true, appsv1.ControllerRevisionHashLabelKey
		if kind == "ReplicaSet" {
			key = appsv1.DefaultDeploymentUniqueLabelKey
		}
		p.Labels = with(p.Labels, key, hash)
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: &controller}}
		p.CreationTimestamp = metav1.NewTime(noon.Add(after))
		if more != nil {
			more(p, c)
		}
	}
}

// crashed is an end with Error after a run of the given length, at a time.
func crashed(run time.Duration, at time.Time) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		Reason: reasonError, ExitCode: 1, StartedAt: metav1.NewTime(at.Add(-run)), FinishedAt: metav1.NewTime(at),
	}
}

// TestO4PodFailures tells which pods count as failing, and in which words.
func TestO4PodFailures(t *testing.T) {
	ofJob := func(p *corev1.Pod, c *corev1.ContainerStatus) {
		controller := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "migrate", Controller: &controller}}
		waitingFor(reasonCrashLoopBackOff, "")(p, c)
	}
	for name, tc := range map[string]struct {
		workloads []workload
		pods      []corev1.Pod
		jobsCount bool
		want      []string
	}{
		"a running pod": {pods: []corev1.Pod{pod("a", true, nil)}},
		"A04: the failing init container is named, not the one that waits for it": {
			pods: []corev1.Pod{pod("a", false, func(p *corev1.Pod, c *corev1.ContainerStatus) {
				waitingFor("PodInitializing", "")(p, c)
				init := corev1.ContainerStatus{Name: "migrate", RestartCount: 4}
				init.State.Waiting = &corev1.ContainerStateWaiting{Reason: reasonCrashLoopBackOff}
				init.LastTerminationState.Terminated = crashed(time.Second, noon)
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{init}
			})},
			want: []string{"a/migrate keeps crashing (exit code 1)"},
		},
		"A04 variant: an init container that failed once and then succeeded": {
			pods: []corev1.Pod{pod("a", false, func(p *corev1.Pod, c *corev1.ContainerStatus) {
				waitingFor("PodInitializing", "")(p, c)
				init := corev1.ContainerStatus{Name: "migrate", RestartCount: 1}
				init.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed"}
				init.LastTerminationState.Terminated = crashed(time.Second, noon)
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{init}
			})},
		},
		"A10: a pod on its way out that ended with an error": {
			pods: []corev1.Pod{pod("a", false, func(p *corev1.Pod, c *corev1.ContainerStatus) {
				p.DeletionTimestamp = &metav1.Time{Time: noon}
				c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reasonError, ExitCode: 143}}
			})},
		},
		"A11: leftovers of a bad node and of earlier tries": {
			pods: []corev1.Pod{
				pod("outofcpu", false, func(p *corev1.Pod, _ *corev1.ContainerStatus) { p.Status.Phase = corev1.PodFailed }),
				pod("try-1", false, func(p *corev1.Pod, c *corev1.ContainerStatus) {
					p.Status.Phase = corev1.PodFailed
					c.State = corev1.ContainerState{Terminated: crashed(time.Second, noon)}
				}),
				pod("new", false, waitingFor(reasonCrashLoopBackOff, "back-off 40s")),
			},
			want: []string{"new/app keeps crashing"},
		},
		"a hook's pod counts while the release is installed": {
			pods: []corev1.Pod{pod("hook", false, ofJob)}, jobsCount: true,
			want: []string{"hook/app keeps crashing"},
		},
		"a Job's pod is no failure of the deployment later": {pods: []corev1.Pod{pod("job", false, ofJob)}},
		"images that cannot be pulled, by either reason": {
			pods: []corev1.Pod{pod("a", false, waitingFor(reasonErrImagePull, "no such tag")), pod("b", false, waitingFor(reasonImagePullBackOff, "back-off"))},
			want: []string{"a/app cannot pull image registry.test/app:1", "b/app cannot pull image registry.test/app:1"},
		},
		"containers that cannot be made": {
			pods: []corev1.Pod{
				pod("a", false, waitingFor(reasonContainerConfigError, "secret \"db\" not found")),
				pod("b", false, waitingFor(reasonContainerError, "no such file")),
				pod("c", false, waitingFor(reasonInvalidImageName, "")),
			},
			want: []string{"a/app cannot be created", "b/app cannot be created", "c/app has the invalid image name \"registry.test/app:1\""},
		},
		"out of memory": {
			pods: []corev1.Pod{pod("a", false, func(_ *corev1.Pod, c *corev1.ContainerStatus) {
				c.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reasonOOMKilled, ExitCode: 137}}
			})},
			want: []string{"a/app keeps running out of memory (OOMKilled)"},
		},
		"A12: no container statuses at all": {
			pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}},
		},
		"broken pods of the revision before, while a mended one rolls out": {
			pods: []corev1.Pod{
				pod("old", false, ofRevision("ReplicaSet", "server-1", "1", 0, waitingFor(reasonCrashLoopBackOff, ""))),
				pod("new", false, ofRevision("ReplicaSet", "server-2", "2", time.Minute, waitingFor("ContainerCreating", ""))),
				pod("agent-0", false, ofRevision("DaemonSet", "agent", "a", 0, waitingFor(reasonCrashLoopBackOff, ""))),
				pod("agent-1", false, ofRevision("DaemonSet", "agent", "b", time.Minute, nil)),
			},
		},
		"broken pods of the newest revision, beside those that work": {
			pods: []corev1.Pod{
				pod("old", true, ofRevision("ReplicaSet", "server-1", "1", 0, nil)),
				pod("new", false, ofRevision("ReplicaSet", "server-2", "2", time.Minute, waitingFor(reasonCrashLoopBackOff, ""))),
				pod("other", false, ofRevision("ReplicaSet", "other-1", "1", 0, waitingFor(reasonCrashLoopBackOff, ""))),
			},
			want: []string{"new/app keeps crashing", "other/app keeps crashing"},
		},
		"a revision that is on its way out supersedes nothing": {
			pods: []corev1.Pod{
				pod("old", false, ofRevision("ReplicaSet", "server-1", "1", 0, waitingFor(reasonCrashLoopBackOff, ""))),
				pod("new", false, ofRevision("ReplicaSet", "server-2", "2", time.Minute, func(p *corev1.Pod, _ *corev1.ContainerStatus) {
					p.DeletionTimestamp = &metav1.Time{Time: noon}
				})),
			},
			want: []string{"old/app keeps crashing"},
		},
		"a broken revision stays the newest though a pod of the one before was made anew": {
			workloads: []workload{{kind: kindDeployment, name: "server", revision: "2"}},
			pods: []corev1.Pod{
				pod("new", false, ofRevision("ReplicaSet", "server-2", "2", 0, waitingFor(reasonCrashLoopBackOff, ""))),
				pod("old", false, ofRevision("ReplicaSet", "server-1", "1", time.Minute, waitingFor(reasonCrashLoopBackOff, ""))),
			},
			want: []string{"new/app keeps crashing"},
		},
		"a newest revision that has no pod yet supersedes nothing": {
			workloads: []workload{{kind: kindDeployment, name: "server", revision: "2"}},
			pods:      []corev1.Pod{pod("old", false, ofRevision("ReplicaSet", "server-1", "1", 0, waitingFor(reasonCrashLoopBackOff, "")))},
			want:      []string{"old/app keeps crashing"},
		},
		"a StatefulSet waits for a broken pod, whatever its revision": {
			pods: []corev1.Pod{
				pod("set-0", false, ofRevision("StatefulSet", "set", "set-a", 0, waitingFor(reasonCrashLoopBackOff, ""))),
				pod("set-1", true, ofRevision("StatefulSet", "set", "set-b", time.Minute, nil)),
			},
			want: []string{"set-0/app keeps crashing"},
		},
		"reasons that are no failure": {
			pods: []corev1.Pod{pod("a", false, waitingFor("ContainerCreating", ""))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range podFailures(tc.workloads, tc.pods, noon, 10*time.Second, false, tc.jobsCount) {
				got = append(got, fmt.Sprintf("%s/%s %s", f.pod, f.container, f.what))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("failures differ (-want +got):\n%s", diff)
			}
		})
	}
}
