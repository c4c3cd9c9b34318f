// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// podOf is a live pod of a ReplicaSet that was made so many seconds after noon.
func podOf(replicaSet, name string, created float64, containers ...ContainerStatus) PodStatus {
	return PodStatus{
		Namespace: "prod-shop", Name: name, UID: "uid-" + name, Phase: "Running", CreatedAt: at(created),
		OwnerKind: ptr("ReplicaSet"), OwnerName: &replicaSet, Component: ptr("server"), Containers: containers,
	}
}

func waiting(name, reason, message string) ContainerStatus {
	return ContainerStatus{Name: name, Kind: ContainerKindApp, State: ContainerStateWaiting, Reason: &reason, Message: &message}
}

func terminated(name, reason string, exitCode int) ContainerStatus {
	return ContainerStatus{Name: name, Kind: ContainerKindApp, State: ContainerStateTerminated, Reason: &reason, ExitCode: &exitCode}
}

func TestR7NamedPods(t *testing.T) {
	crash := waiting("app", "CrashLoopBackOff", "back-off 5m0s restarting failed container")
	crash.LastReason, crash.LastExitCode = ptr("Error"), ptr(1)
	healthy := ContainerStatus{Name: "app", Kind: ContainerKindApp, State: ContainerStateRunning, Ready: true}
	unready := ContainerStatus{Name: "app", Kind: ContainerKindApp, State: ContainerStateRunning}
	as := func(kind ContainerKind, c ContainerStatus) ContainerStatus {
		c.Kind = kind
		return c
	}
	deleted := func(pod PodStatus) PodStatus {
		pod.DeletionRequestedAt = atPtr(0)
		return pod
	}
	inPhase := func(phase string, pod PodStatus) PodStatus {
		pod.Phase = phase
		return pod
	}
	many := func(n int, pod func(i int) PodStatus) []PodStatus {
		pods := make([]PodStatus, n)
		for i := range pods {
			pods[i] = pod(i)
		}
		return pods
	}

	cases := map[string]struct {
		pods []PodStatus
		want []string
	}{
		"no pods, no names": {nil, nil},
		"a waiting container is named with its message": {
			[]PodStatus{podOf("s-1", "a", 0, waiting("app", "CreateContainerConfigError", `secret "db" not found`))},
			[]string{`pod a: container app CreateContainerConfigError (secret "db" not found)`},
		},
		"an ended container is named with its exit code": {
			[]PodStatus{podOf("s-1", "a", 0, terminated("app", "OOMKilled", 137))},
			[]string{"pod a: container app OOMKilled (exit code 137)"},
		},
		"a crash loop is named with the end before it (case A01)": {
			[]PodStatus{podOf("s-1", "a", 0, crash)},
			[]string{"pod a: container app CrashLoopBackOff (Error, exit code 1)"},
		},
		"a crash loop that tells no end is named alone": {
			[]PodStatus{podOf("s-1", "a", 0, waiting("app", "CrashLoopBackOff", "back-off"))},
			[]string{"pod a: container app CrashLoopBackOff"},
		},
		"each failing container of a pod is named, the others are not": {
			[]PodStatus{podOf("s-1", "a", 0, waiting("app", "ErrImagePull", ""), healthy, waiting("proxy", "InvalidImageName", "bad"))},
			[]string{"pod a: container app ErrImagePull, container proxy InvalidImageName (bad)"},
		},
		"an init container is named as such, what waits for it is not (case A04)": {
			[]PodStatus{podOf("s-1", "a", 0, as(ContainerKindInit, terminated("migrate", "Error", 2)), waiting("app", "PodInitializing", ""))},
			[]string{"pod a: init container migrate Error (exit code 2)"},
		},
		"an init container that failed once and is done is not named (case A04)": {
			[]PodStatus{podOf("s-1", "a", 0, as(ContainerKindInit, terminated("migrate", "Completed", 0)), waiting("app", "PodInitializing", ""))},
			nil,
		},
		"a pod without such a container is not named": {
			[]PodStatus{podOf("s-1", "a", 0, unready), podOf("s-1", "b", 0, waiting("app", "ContainerCreating", ""))},
			nil,
		},
		"a pod without container statuses is not named (case A12)": {
			[]PodStatus{inPhase("Pending", podOf("s-1", "a", 0))},
			nil,
		},
		"a running container with an old reason is not named": {
			[]PodStatus{podOf("s-1", "a", 0, ContainerStatus{Name: "app", State: ContainerStateRunning, Reason: ptr("Error")})},
			nil,
		},
		"in a pod that has succeeded the sidecars do not count": {
			[]PodStatus{inPhase("Succeeded", podOf("s-1", "a", 0, terminated("app", "Completed", 0), as(ContainerKindSidecar, terminated("proxy", "Error", 143))))},
			nil,
		},
		"in a pod that has succeeded the others do": {
			[]PodStatus{inPhase("Succeeded", podOf("s-1", "a", 0, terminated("app", "Error", 1)))},
			[]string{"pod a: container app Error (exit code 1)"},
		},
		"in a pod that runs they do": {
			[]PodStatus{podOf("s-1", "a", 0, healthy, as(ContainerKindSidecar, terminated("proxy", "Error", 1)))},
			[]string{"pod a: container proxy Error (exit code 1)"},
		},
		"live pods of the newest rollout come before other live ones": {
			[]PodStatus{podOf("s-1", "a", 0, crash), podOf("s-2", "b", 9, crash)},
			[]string{"pod b: container app CrashLoopBackOff (Error, exit code 1)", "pod a: container app CrashLoopBackOff (Error, exit code 1)"},
		},
		"a pod that an old rollout replaced does not make it the newest": {
			[]PodStatus{podOf("s-1", "a", 0, healthy), podOf("s-1", "b", 20, crash), podOf("s-2", "c", 9, crash)},
			[]string{"pod c: container app CrashLoopBackOff (Error, exit code 1)", "pod b: container app CrashLoopBackOff (Error, exit code 1)"},
		},
		"finished pods come after live ones of any rollout": {
			[]PodStatus{inPhase("Failed", podOf("s-2", "a", 9, terminated("app", "Error", 1))), podOf("s-1", "b", 0, crash), podOf("s-2", "c", 9, crash)},
			[]string{
				"pod c: container app CrashLoopBackOff (Error, exit code 1)",
				"pod b: container app CrashLoopBackOff (Error, exit code 1)",
				"pod a: container app Error (exit code 1)",
			},
		},
		"pods that are being deleted come last (case A10)": {
			[]PodStatus{deleted(podOf("s-2", "a", 9, terminated("app", "Error", 143))), podOf("s-1", "b", 0, crash), inPhase("Failed", podOf("s-1", "c", 0, terminated("app", "Error", 1)))},
			[]string{
				"pod b: container app CrashLoopBackOff (Error, exit code 1)",
				"pod c: container app Error (exit code 1)",
				"pod a: container app Error (exit code 143)",
			},
		},
		"at most five are named, by name": {
			many(7, func(i int) PodStatus {
				return podOf("s-1", fmt.Sprintf("p%d", 6-i), 0, waiting("app", "ErrImagePull", ""))
			}),
			[]string{
				"pod p0: container app ErrImagePull", "pod p1: container app ErrImagePull", "pod p2: container app ErrImagePull",
				"pod p3: container app ErrImagePull", "pod p4: container app ErrImagePull",
			},
		},
		"leftovers do not crowd out the real failure (case A11)": {
			append(
				append(many(300, func(i int) PodStatus { return inPhase("Failed", podOf("s-1", fmt.Sprintf("a%03d", i), 0)) }),
					many(6, func(i int) PodStatus {
						return inPhase("Failed", podOf("job", fmt.Sprintf("b%d", i), 5, terminated("app", "Error", 1)))
					})...),
				podOf("s-2", "z", 9, crash)),
			[]string{
				"pod z: container app CrashLoopBackOff (Error, exit code 1)",
				"pod b0: container app Error (exit code 1)", "pod b1: container app Error (exit code 1)",
				"pod b2: container app Error (exit code 1)", "pod b3: container app Error (exit code 1)",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			picked := failingPods(tc.pods)
			got := make([]string, len(picked))
			for i := range picked {
				got[i] = describePod(&picked[i], "")
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("named pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestR7NewestRollout(t *testing.T) {
	withOwner := func(kind, name string, component *string, created float64) PodStatus {
		return PodStatus{Name: name, OwnerKind: &kind, OwnerName: &name, Component: component, CreatedAt: at(created)}
	}
	gone := withOwner("ReplicaSet", "shop-server-333", nil, 20)
	gone.DeletionRequestedAt = atPtr(21)
	finished := withOwner("ReplicaSet", "shop-server-444", nil, 20)
	finished.Phase = "Failed"
	pods := []PodStatus{
		gone, finished,
		withOwner("ReplicaSet", "shop-server-111", nil, 0),
		withOwner("ReplicaSet", "shop-server-222", nil, 9),
		withOwner("ReplicaSet", "shop-web-111", nil, 0),
		withOwner("ReplicaSet", "api-blue", ptr("api"), 0),
		withOwner("ReplicaSet", "api-green", ptr("api"), 9),
		withOwner("ReplicaSet", "same-time-a", ptr("same"), 0),
		withOwner("ReplicaSet", "same-time-b", ptr("same"), 0),
		withOwner("ReplicaSet", "hashless", nil, 0),
		withOwner("StatefulSet", "db", ptr("db"), 0),
		withOwner("Job", "migrate-1", nil, 0),
		withOwner("Job", "migrate-2", nil, 9),
		{Name: "bare"},
	}
	got := newestOwners(pods)
	want := map[podOwner]bool{
		{"ReplicaSet", "shop-server-222"}: true, {"ReplicaSet", "shop-web-111"}: true,
		{"ReplicaSet", "api-green"}: true, {"ReplicaSet", "same-time-b"}: true, {"ReplicaSet", "hashless"}: true,
		{"StatefulSet", "db"}: true, {"Job", "migrate-1"}: true, {"Job", "migrate-2"}: true, {}: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("owners of the newest rollout (-want +got):\n%s", diff)
	}
}

func TestR7ErrorText(t *testing.T) {
	pods := func() []PodStatus {
		return []PodStatus{podOf("s-1", "a", 0, waiting("app", "ErrImagePull", "no tag v9")), podOf("s-1", "b", 0, terminated("app", "Error", 1))}
	}
	cases := map[string]struct {
		step, message string
		pods          func() []PodStatus
		want          string
	}{
		"of the HelmRelease step names pods": {stepHelmRelease, "timed out", pods, "timed out; pod a: container app ErrImagePull (no tag v9); pod b: container app Error (exit code 1)"},
		"of the ready step names pods":       {stepReady, "timed out", pods, "timed out; pod a: container app ErrImagePull (no tag v9); pod b: container app Error (exit code 1)"},
		"says once what the operator says too": {stepHelmRelease, "cannot pull: no tag v9; exit code 137", pods,
			"cannot pull: no tag v9; exit code 137; pod a: container app ErrImagePull; pod b: container app Error (exit code 1)"},
		"of the ready step without failing pods": {stepReady, "timed out", noPods, "timed out"},
		"of the prerequisites step names none":   {stepPrerequisites, "no secret", nil, "no secret"},
		"of the services step names none":        {stepServices, "no Traefik", nil, "no Traefik"},
		"of the removal step names none":         {stepRemove, "stuck", nil, "stuck"},
		"without a message says so":              {stepServices, "", nil, "no reason was given"},
		"is bounded, on a character's end":       {stepServices, strings.Repeat("世", 2000), nil, strings.Repeat("世", 1365)},
		"is valid text whatever the message is":  {stepServices, "a\x00b\xff", nil, "ab\uFFFD"},
		"bounds what a container says (case C02)": {stepReady, "m", func() []PodStatus {
			return []PodStatus{podOf("s", "a", 0, waiting("app", "ErrImagePull", strings.Repeat("世", 100)))}
		}, "m; pod a: container app ErrImagePull (" + strings.Repeat("世", 85) + ")"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := observation{DeploymentStatus: &DeploymentStatus{Message: &tc.message}, pods: tc.pods}
			if got := seen.failure(tc.step); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestR7CaseC04NewPodUnderAnOldNameIsNotBlamed(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.flow(task)
	fresh := podOf("s-1", "db-0", 5)
	fresh.UID, fresh.Phase = "u2", "Pending"
	w.pods = []PodStatus{fresh}
	observed := reported(instance, "Failed", "Error")
	observed.Message, observed.Conditions = ptr("timed out"), allConditions(1)
	w.reportObject(observed)
	if got := *w.step(task, stepHelmRelease).Error(); got != "timed out" {
		t.Errorf("error is %q", got)
	}
}

// Case A14: a container's configuration is late for a moment, or missing for long.
// The row shows it at once; the step fails when the operator says so, and runs
// again when it healed.
func TestR7CaseA14ConfigErrorFailsTheStepOnceTheOperatorSaysSo(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.flow(task)
	w.pods = []PodStatus{podOf("s-1", "a", 0, waiting("app", "CreateContainerConfigError", `secret "db" not found`))}
	w.pass(5)
	w.report(instance, "CreatingHelmRelease", "Deploying")
	w.wantSteps(task, StepSucceeded, StepRunning, StepPending, StepPending)
	w.pass(30)
	failing := reported(instance, "CreatingHelmRelease", "Error")
	failing.Message = ptr("pods are failing")
	w.reportObject(failing)
	w.wantSteps(task, StepSucceeded, StepFailed, StepPending, StepPending)
	w.wantReason(task, `step "Install or upgrade the HelmRelease" failed: pods are failing; `+
		`pod a: container app CreateContainerConfigError (secret "db" not found)`)
	w.pods = nil
	w.pass(5)
	w.report(instance, "CreatingHelmRelease", "Deploying")
	w.wantSteps(task, StepSucceeded, StepRunning, StepPending, StepPending)
	if attempts := len(w.step(task, stepHelmRelease).Attempts); attempts != 2 {
		t.Errorf("%d attempts", attempts)
	}
}

// Case A03: the reason flips with each back-off.
func TestR8CaseA03FlippingReasonMakesNoAttempt(t *testing.T) {
	w := newWorld(t)
	task := w.claim()
	instance := w.flow(task)
	w.pass(5)
	for i, reason := range []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull"} {
		w.pods = []PodStatus{podOf("s-1", "a", 0, waiting("app", reason, ""))}
		observed := reported(instance, "CreatingHelmRelease", "Error")
		observed.Message = ptr("image cannot be pulled")
		w.reportObject(observed)
		want := "image cannot be pulled; pod a: container app " + reason
		w.wantAttempts(task, stepHelmRelease, StepAttempt{Status: StepFailed, StartedAt: at(5), EndedAt: atPtr(5), Error: &want})
		if !w.Deployment.StatusSince.Equal(at(5)) {
			t.Errorf("report %d moved the status's time", i)
		}
		w.pass(5)
	}
}
