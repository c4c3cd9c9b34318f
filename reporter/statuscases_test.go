// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// statusCase is a pod as the API server could hold it.
type statusCase struct {
	spec   corev1.PodSpec
	status corev1.PodStatus
	// deleted requests the deletion of the pod, which a finalizer holds up.
	deleted bool
	// debugged adds an ephemeral container.
	debugged bool
}

// A piece of a container's status.
type piece func(*corev1.ContainerStatus)

func waiting(reason string) piece {
	return func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
}

func running(ready bool) piece {
	return func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(testStart)}}
		s.Ready = ready
		s.Started = ptr.To(true)
	}
}

func notStarted() piece {
	return func(s *corev1.ContainerStatus) {
		running(false)(s)
		s.Started = ptr.To(false)
	}
}

func terminated(reason string, exitCode, signal int32) piece {
	return func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: reason, ExitCode: exitCode, Signal: signal,
			StartedAt: metav1.NewTime(testStart), FinishedAt: metav1.NewTime(testStart.Add(time.Minute)),
		}}
	}
}

func restarted(times int32) piece {
	return func(s *corev1.ContainerStatus) {
		s.RestartCount = times
		s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Error", ExitCode: 1, FinishedAt: metav1.NewTime(testStart),
		}}
	}
}

// containerPieces are the states that a container of an application can show.
var containerPieces = map[string]piece{
	"waits without a reason":              waiting(""),
	"is being created":                    waiting("ContainerCreating"),
	"waits for the init containers":       waiting("PodInitializing"),
	"crash-loops":                         waiting("CrashLoopBackOff"),
	"cannot pull its image":               waiting("ErrImagePull"),
	"backs off from pulling its image":    waiting("ImagePullBackOff"),
	"has an invalid image name":           waiting("InvalidImageName"),
	"lacks its configuration":             waiting("CreateContainerConfigError"),
	"cannot be created":                   waiting("CreateContainerError"),
	"runs and is ready":                   running(true),
	"runs and is not ready":               running(false),
	"has completed":                       terminated("Completed", 0, 0),
	"has failed":                          terminated("Error", 1, 0),
	"was killed for its memory":           terminated("OOMKilled", 137, 0),
	"could not run":                       terminated("ContainerCannotRun", 127, 0),
	"ended by a signal without a reason":  terminated("", 137, 9),
	"ended with a code without a reason":  terminated("", 3, 0),
	"ended with code 0 without a reason":  terminated("", 0, 0),
	"ended as Completed with a bad code":  terminated("Completed", 2, 0),
	"ended when its node was unreachable": terminated("ContainerStatusUnknown", 137, 0),
}

func podSpec(containers int, initContainers ...corev1.Container) corev1.PodSpec {
	spec := corev1.PodSpec{InitContainers: initContainers, TerminationGracePeriodSeconds: ptr.To[int64](30)}
	for i := range containers {
		spec.Containers = append(spec.Containers, corev1.Container{Name: fmt.Sprintf("app-%d", i), Image: "app:1"})
	}
	return spec
}

func initContainer(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "init:1"}
}

func sidecar(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "sidecar:1", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}
}

func containerStatus(name string, pieces ...piece) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: name, Image: "image:1", ImageID: "id"}
	for _, p := range pieces {
		p(&status)
	}
	return status
}

func condition(conditionType corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: conditionType, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(testStart)}
}

// apps is a status with the application's containers app-0, app-1 and so on.
func apps(phase corev1.PodPhase, conditions []corev1.PodCondition, pieces ...piece) corev1.PodStatus {
	status := corev1.PodStatus{Phase: phase, Conditions: conditions}
	for i, p := range pieces {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(fmt.Sprintf("app-%d", i), p))
	}
	return status
}

// statusCases returns pods of every status that we know of, by a sentence.
func statusCases() map[string]statusCase {
	cases := map[string]statusCase{}
	for _, add := range []func(map[string]statusCase){
		addPhases, addPairs, addInits, addSidecars, addConditions, addDeleted, addRestarts,
	} {
		add(cases)
	}
	return cases
}

var phases = []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown}

// addPhases adds each phase with each state of one container, with none, and
// with each reason that the kubelet and the controllers write on a pod.
func addPhases(cases map[string]statusCase) {
	for _, phase := range phases {
		cases[fmt.Sprintf("%s without container statuses", phase)] = statusCase{spec: podSpec(1), status: corev1.PodStatus{Phase: phase}}
		for name, p := range containerPieces {
			cases[fmt.Sprintf("%s and its container %s", phase, name)] = statusCase{spec: podSpec(1), status: apps(phase, nil, p)}
		}
	}
	for _, reason := range []string{
		"Evicted", "NodeLost", "UnexpectedAdmissionError", "OutOfcpu", "OutOfmemory", "NodeAffinity", "Preempting",
		"Terminated", "NodeShutdown", "DeadlineExceeded", "Shutdown", "PodLevelResourcesNotSupported",
	} {
		cases["Failed with the reason "+reason] = statusCase{
			spec: podSpec(2), status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: "why"},
		}
		withContainers := apps(corev1.PodRunning, nil, running(true), terminated("Error", 137, 0))
		withContainers.Reason = reason
		cases["Running with the reason "+reason+" and containers"] = statusCase{spec: podSpec(2), status: withContainers}
	}
}

// addPairs adds pods of two and three containers, where the word is that of one.
func addPairs(cases map[string]statusCase) {
	ready := []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, "")}
	notReady := []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse, "ContainersNotReady")}
	for _, pair := range [][2]string{
		{"has completed", "runs and is ready"},
		{"runs and is ready", "has completed"},
		{"has completed", "runs and is not ready"},
		{"has completed", "has failed"},
		{"has failed", "has completed"},
		{"has completed", "ended by a signal without a reason"},
		{"has completed", "has completed"},
		{"has completed", "crash-loops"},
		{"crash-loops", "has completed"},
		{"crash-loops", "runs and is ready"},
		{"runs and is ready", "crash-loops"},
		{"is being created", "cannot pull its image"},
		{"runs and is ready", "runs and is ready"},
		{"runs and is ready", "waits without a reason"},
		{"has completed", "ended as Completed with a bad code"},
	} {
		status := func(conditions []corev1.PodCondition) corev1.PodStatus {
			return apps(corev1.PodRunning, conditions, containerPieces[pair[0]], containerPieces[pair[1]])
		}
		name := fmt.Sprintf("one container %s, the other %s", pair[0], pair[1])
		cases[name+", the pod is ready"] = statusCase{spec: podSpec(2), status: status(ready)}
		cases[name+", the pod is not ready"] = statusCase{spec: podSpec(2), status: status(notReady)}
	}
	cases["three containers, the middle one failed, one runs, one completed"] = statusCase{
		spec:   podSpec(3),
		status: apps(corev1.PodRunning, ready, terminated("Completed", 0, 0), terminated("Error", 1, 0), running(true)),
	}
}

// addInits adds pods whose init containers run, fail or are done.
func addInits(cases map[string]statusCase) {
	add := func(name string, conditions []corev1.PodCondition, spec corev1.PodSpec, inits ...corev1.ContainerStatus) {
		status := apps(corev1.PodPending, conditions, waiting("PodInitializing"))
		status.InitContainerStatuses = inits
		cases[name] = statusCase{spec: spec, status: status}
	}
	one := func() corev1.PodSpec { return podSpec(1, initContainer("init-0")) }
	three := func() corev1.PodSpec {
		return podSpec(1, initContainer("init-0"), initContainer("init-1"), initContainer("init-2"))
	}
	initialized := []corev1.PodCondition{condition(corev1.PodInitialized, corev1.ConditionTrue, "")}
	for name, p := range containerPieces {
		add("its init container "+name, nil, one(), containerStatus("init-0", p))
		add("its init container "+name+" though it is initialized", initialized, one(), containerStatus("init-0", p, restarted(2)))
	}
	done := terminated("Completed", 0, 0)
	add("the second of three init containers runs", nil, three(), containerStatus("init-0", done), containerStatus("init-1", running(false)), containerStatus("init-2", waiting("PodInitializing")))
	add("the third of three init containers crash-loops", nil, three(), containerStatus("init-0", done), containerStatus("init-1", done), containerStatus("init-2", waiting("CrashLoopBackOff"), restarted(4)))
	add("all init containers are done", nil, three(), containerStatus("init-0", done), containerStatus("init-1", done), containerStatus("init-2", done))
	add("no init container has a status", nil, three())
	add("an init container was restarted and is done, the pull is slow (case A04)", nil, one(), containerStatus("init-0", done, restarted(1)))
	add("an init container crash-loops behind PodInitializing (case A04)", nil, one(), containerStatus("init-0", waiting("CrashLoopBackOff"), restarted(4)))
	add("an init container that the spec does not know crash-loops", nil, podSpec(1), containerStatus("init-0", waiting("CrashLoopBackOff")))
}

// addSidecars adds pods with init containers that keep running.
func addSidecars(cases map[string]statusCase) {
	ready := []corev1.PodCondition{condition(corev1.PodInitialized, corev1.ConditionTrue, ""), condition(corev1.PodReady, corev1.ConditionTrue, "")}
	spec := func() corev1.PodSpec { return podSpec(1, sidecar("mesh"), initContainer("init-0")) }
	done := containerStatus("init-0", terminated("Completed", 0, 0))
	for name, p := range map[string]piece{
		"runs, is started and ready": running(true), "runs and is started": running(false), "runs and is not started": notStarted(),
		"crash-loops": waiting("CrashLoopBackOff"), "has failed": terminated("Error", 1, 0), "has ended with 0": terminated("Completed", 0, 0),
		"waits": waiting("PodInitializing"), "cannot pull its image": waiting("ErrImagePull"),
	} {
		for phase, conditions := range map[string][]corev1.PodCondition{"before": nil, "after": ready} {
			status := apps(corev1.PodRunning, conditions, running(true))
			status.InitContainerStatuses = []corev1.ContainerStatus{containerStatus("mesh", p, restarted(3)), done}
			cases["its sidecar "+name+", "+phase+" the pod is initialized"] = statusCase{spec: spec(), status: status}
		}
	}
	crashed := apps(corev1.PodRunning, ready, waiting("CrashLoopBackOff"))
	crashed.InitContainerStatuses = []corev1.ContainerStatus{containerStatus("mesh", running(true)), done}
	cases["the application crash-loops beside its sidecar"] = statusCase{spec: spec(), status: crashed}
	completed := apps(corev1.PodSucceeded, ready, terminated("Completed", 0, 0))
	completed.InitContainerStatuses = []corev1.ContainerStatus{containerStatus("mesh", terminated("Error", 137, 0)), done}
	cases["a job is done and its sidecar was killed after it"] = statusCase{spec: spec(), status: completed}
}

// addConditions adds pods that are held up, or changed, by what conditions say.
func addConditions(cases map[string]statusCase) {
	scheduled := func(status corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{condition(corev1.PodScheduled, status, reason)}
	}
	cases["no node fits (case A12)"] = statusCase{spec: podSpec(2), status: corev1.PodStatus{
		Phase: corev1.PodPending, Conditions: scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable),
	}}
	gated := podSpec(1)
	gated.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
	cases["a scheduling gate holds it (case A12)"] = statusCase{spec: gated, status: corev1.PodStatus{
		Phase: corev1.PodPending, Conditions: scheduled(corev1.ConditionFalse, corev1.PodReasonSchedulingGated),
	}}
	gatedWithReason := corev1.PodStatus{Phase: corev1.PodPending, Reason: "Waiting", Conditions: scheduled(corev1.ConditionFalse, corev1.PodReasonSchedulingGated)}
	cases["a scheduling gate holds it and it has a reason"] = statusCase{spec: gated, status: gatedWithReason}

	withGate := podSpec(1)
	withGate.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/balancer"}}
	for name, conditions := range map[string][]corev1.PodCondition{
		"a readiness gate is missing": {condition(corev1.ContainersReady, corev1.ConditionTrue, ""), condition(corev1.PodReady, corev1.ConditionFalse, "ReadinessGatesNotReady")},
		"a readiness gate is open":    {condition("example.com/balancer", corev1.ConditionTrue, ""), condition(corev1.PodReady, corev1.ConditionTrue, "")},
		"a readiness gate is closed":  {condition("example.com/balancer", corev1.ConditionFalse, ""), condition(corev1.PodReady, corev1.ConditionFalse, "ReadinessGatesNotReady")},
	} {
		cases[name] = statusCase{spec: withGate, status: apps(corev1.PodRunning, conditions, running(true))}
	}
	for name, conditions := range map[string][]corev1.PodCondition{
		"a resize waits":                          {condition("PodResizePending", corev1.ConditionTrue, "Deferred")},
		"a resize is not possible":                {condition("PodResizePending", corev1.ConditionTrue, "Infeasible")},
		"a resize is being done":                  {condition("PodResizeInProgress", corev1.ConditionTrue, "")},
		"it is about to be disrupted":             {condition(corev1.DisruptionTarget, corev1.ConditionTrue, "EvictionByEvictionAPI")},
		"its node is lost, containers look ready": {condition(corev1.PodReady, corev1.ConditionFalse, "NodeNotReady")},
		"its readiness is not known":              {condition(corev1.PodReady, corev1.ConditionUnknown, "")},
	} {
		cases[name] = statusCase{spec: podSpec(1), status: apps(corev1.PodRunning, conditions, running(true))}
	}
	cases["it is being debugged"] = statusCase{spec: podSpec(1), status: apps(corev1.PodRunning, nil, running(true)), debugged: true}
	debugged := apps(corev1.PodRunning, nil, waiting("CrashLoopBackOff"))
	debugged.EphemeralContainerStatuses = []corev1.ContainerStatus{containerStatus("debugger", terminated("Error", 1, 0))}
	cases["it crash-loops and its debugger failed"] = statusCase{spec: podSpec(1), status: debugged, debugged: true}
}

// addDeleted adds pods that are being deleted.
func addDeleted(cases map[string]statusCase) {
	for _, phase := range phases {
		cases[fmt.Sprintf("%s and being deleted", phase)] = statusCase{
			spec: podSpec(1), status: apps(phase, []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, "")}, running(true)), deleted: true,
		}
		lost := apps(phase, nil, running(true))
		lost.Reason = reasonNodeLost
		cases[fmt.Sprintf("%s on a lost node and being deleted", phase)] = statusCase{spec: podSpec(1), status: lost, deleted: true}
	}
	for name, p := range containerPieces {
		cases["being deleted and its container "+name] = statusCase{spec: podSpec(1), status: apps(corev1.PodRunning, nil, p), deleted: true}
	}
	initializing := apps(corev1.PodPending, nil, waiting("PodInitializing"))
	initializing.InitContainerStatuses = []corev1.ContainerStatus{containerStatus("init-0", running(false))}
	cases["being deleted while it initializes"] = statusCase{spec: podSpec(1, initContainer("init-0")), status: initializing, deleted: true}
}

// addRestarts adds pods whose containers were restarted.
func addRestarts(cases map[string]statusCase) {
	status := apps(corev1.PodRunning, nil, running(true), waiting("CrashLoopBackOff"))
	restarted(7)(&status.ContainerStatuses[0])
	restarted(5)(&status.ContainerStatuses[1])
	cases["both containers were restarted"] = statusCase{spec: podSpec(2), status: status}

	withInit := apps(corev1.PodRunning, []corev1.PodCondition{condition(corev1.PodInitialized, corev1.ConditionTrue, "")}, running(true))
	withInit.InitContainerStatuses = []corev1.ContainerStatus{
		containerStatus("init-0", terminated("Completed", 0, 0), restarted(4)),
		containerStatus("mesh", running(true), restarted(2)),
	}
	restarted(1)(&withInit.ContainerStatuses[0])
	cases["init container, sidecar and application were restarted"] = statusCase{spec: podSpec(1, initContainer("init-0"), sidecar("mesh")), status: withInit}

	untimed := apps(corev1.PodRunning, nil, running(true))
	untimed.ContainerStatuses[0].RestartCount = 3
	cases["restarted at a time that is not known"] = statusCase{spec: podSpec(1), status: untimed}

	justRestarted := apps(corev1.PodRunning, []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue, "")}, running(true))
	restarted(7)(&justRestarted.ContainerStatuses[0])
	cases["it runs between two crashes (case A01)"] = statusCase{spec: podSpec(1), status: justRestarted}
}
