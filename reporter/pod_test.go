// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// told is what the cases of group A look at in a row.
type told struct {
	Status, Message string
	Ready           bool
	Containers      string
	Restarts        int
	Total           int
	Deleted         *time.Time
}

func tell(pod *corev1.Pod) told {
	row := podRow(pod, "")
	result := told{
		Status: row.Status, Message: deref(row.Message), Ready: row.Ready,
		Restarts: row.Restarts, Total: row.TotalContainers, Deleted: row.DeletionRequestedAt,
	}
	for _, container := range row.Containers {
		result.Containers += container.Name + " " + string(container.Kind) + " " + string(container.State) + " " + deref(container.Reason)
		if container.LastReason != nil {
			result.Containers += " after " + *container.LastReason
		}
		result.Containers += "; "
	}
	return result
}

func casePod(spec corev1.PodSpec, status corev1.PodStatus, mutate ...func(*corev1.Pod)) *corev1.Pod {
	return testPod("prod-shop", "shop-0", append([]func(*corev1.Pod){func(p *corev1.Pod) {
		p.Spec, p.Status = spec, status
	}}, mutate...)...)
}

func beingDeleted(p *corev1.Pod) {
	p.DeletionTimestamp = ptr.To(metav1.NewTime(testStart))
	p.DeletionGracePeriodSeconds = ptr.To[int64](30)
}

func withContainer(phase corev1.PodPhase, conditions []corev1.PodCondition, pieces ...piece) corev1.PodStatus {
	return corev1.PodStatus{Phase: phase, Conditions: conditions, ContainerStatuses: []corev1.ContainerStatus{containerStatus("app-0", pieces...)}}
}

func TestP8WhatIsToldOfPodsThatAreNotWell(t *testing.T) {
	isReady := []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, "")}
	notReady := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [app-0]"}}
	lastError := func(times int32) piece { return restarted(times) }
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want told
	}{
		"case A01 at t0: the container backs off": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, notReady, waiting("CrashLoopBackOff"), lastError(6))),
			want: told{
				Status: "CrashLoopBackOff", Message: "containers with unready status: [app-0]", Restarts: 6, Total: 1,
				Containers: "app-0 APP WAITING CrashLoopBackOff after Error; ",
			},
		},
		"case A01 at t5: it runs, restarted just now, and the row still says how it ended": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, isReady, running(true), lastError(7))),
			want: told{
				Status: "Running", Ready: true, Restarts: 7, Total: 1, Containers: "app-0 APP RUNNING  after Error; ",
			},
		},
		"case A01 at t10: it has ended again": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, notReady, terminated("Error", 1, 0), lastError(7))),
			want: told{
				Status: "Error", Message: "containers with unready status: [app-0]", Restarts: 7, Total: 1,
				Containers: "app-0 APP TERMINATED Error after Error; ",
			},
		},
		"case A04: an init container crash-loops behind PodInitializing": {
			pod: casePod(podSpec(1, initContainer("migrate")), corev1.PodStatus{
				Phase:                 corev1.PodPending,
				InitContainerStatuses: []corev1.ContainerStatus{containerStatus("migrate", waiting("CrashLoopBackOff"), lastError(4))},
				ContainerStatuses:     []corev1.ContainerStatus{containerStatus("app-0", waiting("PodInitializing"))},
			}),
			want: told{
				Status: "Init:CrashLoopBackOff", Restarts: 4, Total: 1,
				Containers: "migrate INIT WAITING CrashLoopBackOff after Error; app-0 APP WAITING PodInitializing; ",
			},
		},
		"case A04 variant: an init container was restarted and is done": {
			pod: casePod(podSpec(1, initContainer("migrate")), corev1.PodStatus{
				Phase:                 corev1.PodPending,
				InitContainerStatuses: []corev1.ContainerStatus{containerStatus("migrate", terminated("Completed", 0, 0), lastError(1))},
				ContainerStatuses:     []corev1.ContainerStatus{containerStatus("app-0", waiting("PodInitializing"))},
			}),
			want: told{
				Status: "PodInitializing", Total: 1,
				Containers: "migrate INIT TERMINATED Completed after Error; app-0 APP WAITING PodInitializing; ",
			},
		},
		"case A09: the node is lost while the containers look ready": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse, "NodeNotReady")}, running(true))),
			want: told{
				Status: "Running", Total: 1, Containers: "app-0 APP RUNNING ; ",
			},
		},
		"case A09 later: it is to be deleted, and hangs": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse, "NodeNotReady")}, running(true)), beingDeleted),
			want: told{
				Status: "Terminating", Total: 1, Containers: "app-0 APP RUNNING ; ", Deleted: ptr.To(testStart.Add(-30 * time.Second)),
			},
		},
		"case A10: an old pod is ready through its grace period, which does not count": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, isReady, running(true)), beingDeleted),
			want: told{
				Status: "Terminating", Total: 1, Containers: "app-0 APP RUNNING ; ", Deleted: ptr.To(testStart.Add(-30 * time.Second)),
			},
		},
		"case A10 later: it ends by the signal": {
			pod: casePod(podSpec(1), withContainer(corev1.PodRunning, nil, terminated("Error", 143, 0)), beingDeleted),
			want: told{
				Status: "Terminating", Total: 1, Containers: "app-0 APP TERMINATED Error; ", Deleted: ptr.To(testStart.Add(-30 * time.Second)),
			},
		},
		"case A11: a pod that a node refused has no container with a reason": {
			pod: casePod(podSpec(1), corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "Node didn't have enough resource: cpu"}),
			want: told{
				Status: "OutOfcpu", Message: "Node didn't have enough resource: cpu", Total: 1, Containers: "app-0 APP WAITING ; ",
			},
		},
		"case A12: no node fits": {
			pod: casePod(podSpec(2), corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes fit"},
			}}),
			want: told{
				Status: "Pending", Message: "Unschedulable: 0/3 nodes fit", Total: 2, Containers: "app-0 APP WAITING ; app-1 APP WAITING ; ",
			},
		},
		"case A12 variant: a gate holds it, without a message": {
			pod: casePod(corev1.PodSpec{
				Containers:      []corev1.Container{{Name: "app-0"}},
				SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: "example.com/topology"}},
			}, corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated"},
			}}),
			want: told{
				Status:  "SchedulingGated",
				Message: "SchedulingGated: waits for its scheduling gates to be removed: example.com/quota, example.com/topology",
				Total:   1, Containers: "app-0 APP WAITING ; ",
			},
		},
		"no node yet, and the scheduler says nothing": {
			pod: casePod(podSpec(1), corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse},
			}}),
			want: told{
				Status: "Pending", Message: "no node has been found for the pod", Total: 1, Containers: "app-0 APP WAITING ; ",
			},
		},
		"case A14: a secret is missing, which is told at once": {
			pod: casePod(podSpec(1), withContainer(corev1.PodPending, nil, func(s *corev1.ContainerStatus) {
				s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `secret "db" not found`}
			})),
			want: told{
				Status: "CreateContainerConfigError", Message: `secret "db" not found`, Total: 1,
				Containers: "app-0 APP WAITING CreateContainerConfigError; ",
			},
		},
		"a container that failed says why in its termination message": {
			pod: casePod(podSpec(1), withContainer(corev1.PodFailed, nil, func(s *corev1.ContainerStatus) {
				s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, Message: "panic: no config"}
			})),
			want: told{
				Status: "Error", Message: "panic: no config", Total: 1, Containers: "app-0 APP TERMINATED Error; ",
			},
		},
		"a job that is done says nothing, though it is not ready": {
			pod: casePod(podSpec(1), withContainer(corev1.PodSucceeded, notReady, terminated("Completed", 0, 0))),
			want: told{
				Status: "Completed", Total: 1, Containers: "app-0 APP TERMINATED Completed; ",
			},
		},
		"a sidecar is no init container": {
			pod: casePod(podSpec(1, sidecar("mesh")), corev1.PodStatus{Phase: corev1.PodRunning, Conditions: isReady}),
			want: told{
				Status: "Running", Ready: true, Total: 2, Containers: "mesh SIDECAR WAITING ; app-0 APP WAITING ; ",
			},
		},
		"a debug container is no part of the application": {
			pod: casePod(corev1.PodSpec{
				Containers:          []corev1.Container{{Name: "app-0"}},
				EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}},
			}, corev1.PodStatus{Phase: corev1.PodRunning, EphemeralContainerStatuses: []corev1.ContainerStatus{containerStatus("debug", terminated("Error", 1, 0))}}),
			want: told{
				Status: "Running", Total: 1, Containers: "app-0 APP WAITING ; ",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tell(tc.pod)); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCaseA03TheUsefulMessageOfAFailedPullStays goes through polls of one pod.
func TestCaseA03TheUsefulMessageOfAFailedPullStays(t *testing.T) {
	pull := func(reason, message, image string) *corev1.Pod {
		spec := podSpec(1)
		spec.Containers[0].Image = image
		return casePod(spec, withContainer(corev1.PodPending, nil, func(s *corev1.ContainerStatus) {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
		}))
	}
	steps := []struct {
		name                    string
		pod                     *corev1.Pod
		wantReason, wantMessage string
	}{
		{"the first try fails", pull("ErrImagePull", "tag v9 not found", "app:v9"), "ErrImagePull", "tag v9 not found"},
		{"it backs off", pull("ImagePullBackOff", "back-off", "app:v9"), "ImagePullBackOff", "tag v9 not found"},
		{"it backs off still", pull("ImagePullBackOff", "back-off", "app:v9"), "ImagePullBackOff", "tag v9 not found"},
		{"the next try fails otherwise", pull("ErrImagePull", "registry down", "app:v9"), "ErrImagePull", "registry down"},
		{"it backs off from that", pull("ImagePullBackOff", "back-off", "app:v9"), "ImagePullBackOff", "registry down"},
		{"another image backs off", pull("ImagePullBackOff", "back-off", "app:v10"), "ImagePullBackOff", "back-off"},
		{"it is created", pull("ContainerCreating", "", "app:v9"), "ContainerCreating", ""},
		{"what was before that is forgotten", pull("ImagePullBackOff", "back-off", "app:v9"), "ImagePullBackOff", "back-off"},
	}
	var remembered []pullFailure
	for _, step := range steps {
		row := podRow(step.pod, "")
		remembered = keepPullMessages(&row, remembered)
		container := row.Containers[0]
		if got := deref(container.Reason); got != step.wantReason || row.Status != step.wantReason {
			t.Errorf("%s: reason = %q, status = %q, want %q", step.name, got, row.Status, step.wantReason)
		}
		if got := deref(container.Message); got != step.wantMessage {
			t.Errorf("%s: message = %q, want %q", step.name, got, step.wantMessage)
		}
		if got := deref(row.Message); got != step.wantMessage {
			t.Errorf("%s: the row's message = %q, want %q", step.name, got, step.wantMessage)
		}
	}
}

func TestP6NumbersStayWithinTheContracts(t *testing.T) {
	pod := testPod("a", "a-0", func(p *corev1.Pod) {
		for range 3 {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{RestartCount: math.MaxInt32})
		}
	})
	if got := podRow(pod, "").Restarts; got != math.MaxInt32 {
		t.Errorf("restarts = %d, want %d", got, math.MaxInt32)
	}
}

func TestADeletionsTimeIsThatOfTheRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		grace *int64
		want  time.Time
	}{
		"with the usual grace":           {ptr.To[int64](30), testStart.Add(-30 * time.Second)},
		"without a grace":                {nil, testStart},
		"with a grace below zero":        {ptr.To[int64](-5), testStart},
		"with a grace beyond all belief": {ptr.To[int64](1 << 60), testStart},
	} {
		t.Run(name, func(t *testing.T) {
			pod := testPod("a", "a-0", beingDeleted, func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = tc.grace })
			if diff := cmp.Diff(&tc.want, deletionRequestedAt(pod)); diff != "" {
				t.Errorf("time (-want +got):\n%s", diff)
			}
		})
	}
}
