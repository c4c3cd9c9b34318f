// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// server is a workload of the component with as many pods as given.
func server(declared, observed int32, state status.Status) workload {
	return workload{kind: "Deployment", name: "server", podLabels: labels.Set(serverLabels), declared: declared, observed: observed, state: state, message: "Ready: 1/3"}
}

func serverComponent(replicas int32, running bool) styrminv1.ComponentSpec {
	return styrminv1.ComponentSpec{
		Name: "server", Replicas: replicas, Running: &running, ReplicasValue: "server.replicas",
		Selector: metav1.LabelSelector{MatchLabels: serverLabels},
	}
}

func TestO4Components(t *testing.T) {
	deleting := func(p *corev1.Pod, _ *corev1.ContainerStatus) { p.DeletionTimestamp = &metav1.Time{Time: noon} }
	for name, tc := range map[string]struct {
		component      styrminv1.ComponentSpec
		workloads      []workload
		pods           []corev1.Pod
		want           styrminv1.ComponentStatus
		wantWaitingFor string
	}{
		"all replicas are ready": {
			component: serverComponent(2, true), workloads: []workload{server(2, 2, status.CurrentStatus)},
			pods: []corev1.Pod{pod("a", true, nil), pod("b", true, nil)},
			want: styrminv1.ComponentStatus{Desired: 2, Ready: 2, State: styrminv1.ComponentRunning},
		},
		"A09: containers that say ready on a lost node are not": {
			component: serverComponent(2, true), workloads: []workload{server(2, 2, status.CurrentStatus)},
			pods: []corev1.Pod{pod("a", true, nil), pod("b", false, func(_ *corev1.Pod, c *corev1.ContainerStatus) {
				c.Ready = true
			})},
			want:           styrminv1.ComponentStatus{Desired: 2, Ready: 1, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 1 of 2 pods are ready",
		},
		"a component that the chart alone scales is to have what the chart says": {
			component: styrminv1.ComponentSpec{Name: "server", Replicas: 3, Selector: serverComponent(3, true).Selector},
			workloads: []workload{server(2, 2, status.CurrentStatus)},
			pods:      []corev1.Pod{pod("a", true, nil), pod("b", true, nil)},
			want:      styrminv1.ComponentStatus{Desired: 2, Ready: 2, State: styrminv1.ComponentRunning},
		},
		"A10: terminating pods do not count as ready": {
			component: serverComponent(2, true), workloads: []workload{server(2, 2, status.InProgressStatus)},
			pods:           []corev1.Pod{pod("a", true, nil), pod("b", true, deleting)},
			want:           styrminv1.ComponentStatus{Desired: 2, Ready: 1, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 1 of 2 pods are ready; Deployment server: Ready: 1/3",
		},
		"A09: a stuck terminating pod does not matter when its replacement is ready": {
			component: serverComponent(1, true), workloads: []workload{server(1, 1, status.CurrentStatus)},
			pods: []corev1.Pod{pod("a", true, nil), pod("b", true, deleting)},
			want: styrminv1.ComponentStatus{Desired: 1, Ready: 1, State: styrminv1.ComponentRunning},
		},
		"A12: a pod without a node is told with the scheduler's reason": {
			component: serverComponent(1, true), workloads: []workload{server(1, 1, status.InProgressStatus)},
			pods: []corev1.Pod{pod("a", false, func(p *corev1.Pod, _ *corev1.ContainerStatus) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes fit",
				})
			})},
			want:           styrminv1.ComponentStatus{Desired: 1, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 0 of 1 pods are ready; Deployment server: Ready: 1/3; pod a has no node: Unschedulable: 0/3 nodes fit",
		},
		"A12: a gated pod has no message": {
			component: serverComponent(1, true), workloads: []workload{server(1, 1, status.CurrentStatus)},
			pods: []corev1.Pod{pod("a", false, func(p *corev1.Pod, _ *corev1.ContainerStatus) {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated",
				})
			})},
			want:           styrminv1.ComponentStatus{Desired: 1, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 0 of 1 pods are ready; pod a has no node: SchedulingGated",
		},
		"E08 b: stopped while a pod is still going": {
			component: serverComponent(3, false), workloads: []workload{server(0, 0, status.CurrentStatus)},
			pods:           []corev1.Pod{pod("a", true, deleting)},
			want:           styrminv1.ComponentStatus{State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 1 pods are left",
		},
		"E08 b: stopped while the workload still counts replicas": {
			component: serverComponent(3, false), workloads: []workload{server(0, 2, status.CurrentStatus)},
			want:           styrminv1.ComponentStatus{State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 2 pods are left",
		},
		"E08 b: stopped and empty": {
			component: serverComponent(3, false), workloads: []workload{server(0, 0, status.CurrentStatus)},
			want: styrminv1.ComponentStatus{State: styrminv1.ComponentStopped},
		},
		"a pod that has finished is not left over": {
			component: serverComponent(3, false), workloads: []workload{server(0, 0, status.CurrentStatus)},
			pods: []corev1.Pod{pod("evicted", false, func(p *corev1.Pod, _ *corev1.ContainerStatus) { p.Status.Phase = corev1.PodFailed })},
			want: styrminv1.ComponentStatus{State: styrminv1.ComponentStopped},
		},
		"E08 c: available, but its pod is not ready": {
			component: serverComponent(1, true), workloads: []workload{server(1, 1, status.CurrentStatus)},
			pods:           []corev1.Pod{pod("a", false, nil)},
			want:           styrminv1.ComponentStatus{Desired: 1, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: 0 of 1 pods are ready",
		},
		"a workload that still has the replicas of before": {
			component: serverComponent(3, true), workloads: []workload{server(2, 2, status.CurrentStatus)},
			pods:           []corev1.Pod{pod("a", true, nil), pod("b", true, nil)},
			want:           styrminv1.ComponentStatus{Desired: 3, Ready: 2, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: its workloads declare 2 replicas, not 3",
		},
		"a workload that an autoscaler scales too": {
			component: serverComponent(3, true), workloads: []workload{func() workload {
				w := server(2, 2, status.CurrentStatus)
				w.autoscaler = "by-load"
				return w
			}()},
			pods: []corev1.Pod{pod("a", true, nil), pod("b", true, nil)},
			want: styrminv1.ComponentStatus{Desired: 3, Ready: 2, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: its workloads declare 2 replicas, not 3; HorizontalPodAutoscaler by-load scales Deployment server too: " +
				"remove it, or the component's replicasValue",
		},
		"nothing matches the selector": {
			component:      serverComponent(1, true),
			want:           styrminv1.ComponentStatus{Desired: 1, State: styrminv1.ComponentProgressing},
			wantWaitingFor: "component server: no workload or pod matches its selector",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want.Name = "server"
			d := &styrminv1.StyrminDeployment{}
			d.Spec.Components = []styrminv1.ComponentSpec{tc.component}
			got := judgeReadiness(newScope(d, noon), Options{}.withDefaults(), tc.workloads, tc.pods, progress{attempted: true, installed: true})
			if diff := cmp.Diff([]styrminv1.ComponentStatus{tc.want}, got.components); diff != "" {
				t.Errorf("component differs (-want +got):\n%s", diff)
			}
			if got.waitingFor != tc.wantWaitingFor {
				t.Errorf("waitingFor = %q, want %q", got.waitingFor, tc.wantWaitingFor)
			}
		})
	}
}

// timeline runs reconciles of a deployment at times after noon, and those that
// they ask for in between. It notes each as "<time>: <phase> <state>", with "*"
// where the status changed; those in between only where it did.
type timeline struct {
	d        *styrminv1.StyrminDeployment
	opts     Options
	progress progress
	again    time.Duration
	seen     func(time.Duration) styrminv1.StyrminDeploymentStatus
	got      []string
}

func newTimeline(components ...styrminv1.ComponentSpec) *timeline {
	d := &styrminv1.StyrminDeployment{}
	d.Generation, d.Spec.InstanceID, d.Spec.Components = 1, "i-1", components
	d.Status = startStatus(newScope(d, noon))
	return &timeline{d: d, opts: Options{}.withDefaults(), progress: progress{attempted: true, installed: true}}
}

// at reconciles with the given workloads and pods, and returns the status.
func (tl *timeline) at(after time.Duration, workloads []workload, pods ...corev1.Pod) styrminv1.StyrminDeploymentStatus {
	for tl.seen != nil && tl.again > 0 && tl.again < after {
		before := tl.d.Status
		tl.seen(tl.again)
		if last := len(tl.got) - 1; cmp.Equal(before, tl.d.Status) {
			tl.got = tl.got[:last]
		}
	}
	tl.seen = func(after time.Duration) styrminv1.StyrminDeploymentStatus {
		return tl.reconcile(after, workloads, pods)
	}
	return tl.seen(after)
}

func (tl *timeline) reconcile(after time.Duration, workloads []workload, pods []corev1.Pod) styrminv1.StyrminDeploymentStatus {
	s := newScope(tl.d, noon.Add(after))
	prerequisites, release, services := done(""), done(""), done("")
	o := observation{prerequisites: &prerequisites, release: &release}
	if tl.progress.installed {
		o.services = &services
	} else {
		release = progressing("Running 'upgrade' action")
	}
	o.readiness = judgeReadiness(s, tl.opts, workloads, pods, tl.progress)
	next, recheck := nextStatus(s, tl.opts, o)
	changed := ""
	if !cmp.Equal(tl.d.Status, next) {
		changed = "*"
	}
	tl.again = 0
	if recheck > 0 {
		tl.again = after + recheck
	}
	tl.d.Status = next
	tl.got = append(tl.got, fmt.Sprintf("%s: %s %s%s", after, next.Phase, next.DisplayState, changed))
	return next
}

func (tl *timeline) check(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, tl.got); diff != "" {
		t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
}

func TestO4RunningOnlyAfterTheSettleTime(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	workloads := []workload{server(1, 1, status.CurrentStatus)}
	waits := tl.at(0, workloads, pod("a", false, nil))
	if !apimeta.IsStatusConditionTrue(waits.Conditions, styrminv1.ConditionServicesReady) {
		t.Error("ServicesReady is not True while only the pods are waited for (O2)")
	}
	tl.at(5*time.Second, workloads, pod("a", true, nil))
	tl.at(10*time.Second, workloads, pod("a", true, nil))
	tl.at(60*time.Second, workloads, pod("a", true, nil))
	tl.check(t,
		"0s: CreatingServices Deploying*",
		"5s: Ready Deploying*",
		"10s: Ready Deploying",
		"16s: Ready Running*",
		"1m0s: Ready Running",
	)
	if tl.again != 0 {
		t.Errorf("a settled deployment is looked at again after %s; watches are to tell (O8)", tl.again-time.Minute)
	}
}

func TestO4CaseE08ACrashAnHourLater(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	current := []workload{server(1, 1, status.CurrentStatus)}
	broken := []workload{server(1, 1, status.InProgressStatus)}
	loop := pod("a", false, waitingFor(reasonCrashLoopBackOff, ""))
	tl.at(0, current, pod("a", true, nil))
	tl.at(time.Minute, current, pod("a", true, nil))
	tl.at(time.Hour, broken, loop)
	tl.at(time.Hour+20*time.Second, broken, loop)
	tl.at(2*time.Hour, broken, loop)
	tl.at(3*time.Hour, current, pod("b", true, nil))
	tl.at(4*time.Hour, current, pod("b", true, nil))
	tl.check(t,
		"0s: Ready Deploying*",
		"11s: Ready Running*",
		"1m0s: Ready Running",
		"1h0m0s: Ready Deploying*",
		"1h0m20s: Ready Deploying",
		"1h0m31s: Ready Error*",
		"2h0m0s: Ready Error",
		"3h0m0s: Ready Deploying*",
		"3h0m11s: Ready Running*",
		"4h0m0s: Ready Running",
	)
}

// TestO4CaseA01CrashLoopIsOneSteadyError: each run of the container looks
// healthy for a while, longer than the settle time even.
func TestO4CaseA01CrashLoopIsOneSteadyError(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	tl.d.Status.Phase, tl.d.Status.DisplayState = styrminv1.PhaseReady, styrminv1.DisplayStateRunning
	setCondition(&tl.d.Status, noon.Add(-time.Hour), styrminv1.ConditionReady, done("everything is as declared"))
	current, broken := []workload{server(1, 1, status.CurrentStatus)}, []workload{server(1, 1, status.InProgressStatus)}
	const run = 12 * time.Second
	backoff := 10 * time.Second
	for now := time.Duration(0); now < 5*time.Minute; {
		end := noon.Add(now)
		ended := pod("a", false, func(_ *corev1.Pod, c *corev1.ContainerStatus) {
			c.State = corev1.ContainerState{Terminated: crashed(run, end)}
		})
		tl.at(now, broken, ended)
		waits := pod("a", false, func(p *corev1.Pod, c *corev1.ContainerStatus) {
			waitingFor(reasonCrashLoopBackOff, fmt.Sprintf("back-off %s", backoff))(p, c)
			c.LastTerminationState.Terminated = crashed(run, end)
		})
		tl.at(now+time.Second, broken, waits)
		now += backoff
		started := noon.Add(now)
		runs := pod("a", true, func(_ *corev1.Pod, c *corev1.ContainerStatus) {
			c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}}
			c.LastTerminationState.Terminated = crashed(run, end)
		})
		tl.at(now+time.Second, current, runs)
		tl.at(now+run-time.Second, current, runs)
		now += run
		backoff *= 2
	}
	var errorAt int
	for i, line := range tl.got {
		if strings.Contains(line, "Running") {
			t.Errorf("the crash loop was displayed as Running: %s", line)
		}
		if strings.Contains(line, "Error") && errorAt == 0 {
			errorAt = i
		}
	}
	if errorAt == 0 {
		t.Fatalf("the crash loop never was an Error:\n%s", strings.Join(tl.got, "\n"))
	}
	for _, line := range tl.got[errorAt+1:] {
		if !strings.HasSuffix(strings.TrimSuffix(line, "*"), "Ready Error") {
			t.Errorf("the Error was not steady: %s", line)
		}
	}
	if want := "pod a: container app keeps crashing (exit code 1)"; tl.d.Status.Message != want {
		t.Errorf("message = %q, want %q", tl.d.Status.Message, want)
	}
}

// TestO4CaseA03PullReasonsThatAlternate: one state, the useful message kept, no
// status change at a flip.
func TestO4CaseA03PullReasonsThatAlternate(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	broken := []workload{server(1, 1, status.InProgressStatus)}
	tl.at(0, broken, pod("a", false, waitingFor(reasonErrImagePull, "tag v9 not found")))
	tl.at(5*time.Second, broken, pod("a", false, waitingFor(reasonImagePullBackOff, "back-off")))
	tl.at(10*time.Second, broken, pod("a", false, waitingFor(reasonErrImagePull, "tag v9 not found (again)")))
	last := tl.at(40*time.Second, broken, pod("a", false, waitingFor(reasonImagePullBackOff, "back-off")))
	tl.check(t,
		"0s: CreatingServices Deploying*",
		"5s: CreatingServices Deploying",
		"10s: CreatingServices Deploying",
		"31s: CreatingServices Error*",
		"40s: CreatingServices Error",
	)
	if want := "pod a: container app cannot pull image registry.test/app:1: tag v9 not found"; last.Message != want {
		t.Errorf("message = %q, want %q", last.Message, want)
	}
}

// TestO4CaseA14ConfigErrorThatHeals: shorter than the grace is no error.
func TestO4CaseA14ConfigErrorThatHeals(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	broken, current := []workload{server(1, 1, status.InProgressStatus)}, []workload{server(1, 1, status.CurrentStatus)}
	tl.at(0, broken, pod("a", false, waitingFor(reasonContainerConfigError, "cache sync timed out")))
	tl.at(15*time.Second, current, pod("a", true, nil))
	tl.at(27*time.Second, current, pod("a", true, nil))
	tl.check(t,
		"0s: CreatingServices Deploying*",
		"15s: Ready Deploying*",
		"26s: Ready Running*",
		"27s: Ready Running",
	)
}

func TestO4ProgressDeadlineOfAWorkloadIsAnError(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	failedServer := server(1, 1, status.FailedStatus)
	failedServer.message = "Progress deadline exceeded"
	got := tl.at(0, []workload{failedServer}, pod("a", false, nil))
	tl.check(t, "0s: CreatingServices Error*")
	if want := "Deployment server: Progress deadline exceeded"; got.Message != want {
		t.Errorf("message = %q, want %q", got.Message, want)
	}
}

// TestO4ProgressDeadlineOfTheOlderSpecIsNone: the condition stays until Helm has
// written the workload anew, hooks before it and all.
func TestO4ProgressDeadlineOfTheOlderSpecIsNone(t *testing.T) {
	late := func(at time.Duration) []workload {
		w := server(1, 1, status.FailedStatus)
		w.message, w.failedAt = "Progress deadline exceeded", noon.Add(at)
		return []workload{w}
	}
	tl := newTimeline(serverComponent(1, true))
	setCondition(&tl.d.Status, noon.Add(time.Minute), styrminv1.ConditionPrerequisitesReady, done(""))
	tl.progress = progress{attempted: true}
	tl.at(2*time.Minute, late(0))
	tl.at(3*time.Minute, late(time.Minute)) // Of the same second: a deadline has one at least.
	tl.at(12*time.Minute, late(11*time.Minute))
	tl.check(t,
		"2m0s: CreatingHelmRelease Deploying*",
		"3m0s: CreatingHelmRelease Deploying",
		"12m0s: CreatingHelmRelease Error*",
	)

	same := newTimeline(serverComponent(1, true))
	setCondition(&same.d.Status, noon.Add(time.Minute), styrminv1.ConditionPrerequisitesReady, done(""))
	got := same.at(2*time.Minute, late(0))
	if got.DisplayState != styrminv1.DisplayStateError {
		t.Errorf("an installation that left the late workload as it is shows %s, want Error", got.DisplayState)
	}
}

// TestO4BrokenPodsOfTheOlderSpecAreNoFailure: a mended spec's hooks run while the
// pods that it is to replace still crash. The component is told as it is.
func TestO4BrokenPodsOfTheOlderSpecAreNoFailure(t *testing.T) {
	broken := []workload{server(1, 1, status.InProgressStatus)}
	created := func(at time.Duration) corev1.Pod {
		return pod("a", false, func(p *corev1.Pod, c *corev1.ContainerStatus) {
			p.CreationTimestamp = metav1.NewTime(noon.Add(at))
			waitingFor(reasonCrashLoopBackOff, "")(p, c)
		})
	}
	tl := newTimeline(serverComponent(1, true))
	setCondition(&tl.d.Status, noon.Add(time.Minute), styrminv1.ConditionPrerequisitesReady, done(""))
	tl.progress = progress{attempted: true}
	got := tl.at(2*time.Minute, broken, created(0))
	if state := got.Components[0].State; state != styrminv1.ComponentError {
		t.Errorf("the component is %s, want Error", state)
	}
	tl.at(4*time.Minute, broken, created(0))
	tl.at(5*time.Minute, broken, created(5*time.Minute))
	tl.at(6*time.Minute, broken, created(5*time.Minute))
	tl.check(t,
		"2m0s: CreatingHelmRelease Deploying*",
		"4m0s: CreatingHelmRelease Deploying",
		"5m0s: CreatingHelmRelease Deploying*",
		"5m31s: CreatingHelmRelease Error*",
		"6m0s: CreatingHelmRelease Error",
	)
}

// TestO4DeadlineOfADeployment is where the time of a passed deadline comes from.
func TestO4DeadlineOfADeployment(t *testing.T) {
	of := func(status corev1.ConditionStatus) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Status.Conditions = []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(time.Hour))},
			{Type: appsv1.DeploymentProgressing, Status: status, Reason: "ProgressDeadlineExceeded", LastTransitionTime: metav1.NewTime(noon)},
		}
		return d
	}
	if got := deadlinePassedAt(of(corev1.ConditionFalse)); !got.Equal(noon) {
		t.Errorf("the deadline passed at %s, want %s", got, noon)
	}
	if got := deadlinePassedAt(of(corev1.ConditionTrue)); !got.IsZero() {
		t.Errorf("the deadline passed at %s, want never", got)
	}
}

// TestO4WaitingForeverIsAnError: a StatefulSet has no progress deadline.
func TestO4WaitingForeverIsAnError(t *testing.T) {
	tl := newTimeline(serverComponent(1, true))
	slow := []workload{server(1, 1, status.InProgressStatus)}
	tl.at(0, slow, pod("a", false, nil))
	tl.at(5*time.Minute, slow, pod("a", false, nil))
	tl.at(7*time.Minute, []workload{server(1, 1, status.CurrentStatus)}, pod("a", true, nil))
	tl.check(t,
		"0s: CreatingServices Deploying*",
		"5m0s: CreatingServices Deploying",
		"6m1s: CreatingServices Error*",
		"7m0s: Ready Deploying*",
	)
}
