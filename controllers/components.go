// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// judgeComponents tells how the components are, and what the first of them
// lacks. A component that showed a failure is in Error until its restarted
// containers have run for long enough.
func (out *readiness) judgeComponents(s *scope, opts Options, workloads []workload, pods []corev1.Pod, failures []podFailure) {
	visible := visibleOnly(failures)
	for i := range s.deployment.Spec.Components {
		spec := &s.deployment.Spec.Components[i]
		mine := visible
		if stateOf(s.status.Components, spec.Name) == styrminv1.ComponentError {
			mine = failures
		}
		c := judgeComponent(spec, workloads, pods, mine)
		if c.status.State == styrminv1.ComponentError && len(visible) == 0 {
			// A container that has restarted becomes calm without any event.
			out.recheckAfter = soonest(out.recheckAfter, opts.SettleTime)
		}
		out.components = append(out.components, c.status)
		if out.waitingFor == "" {
			out.waitingFor = c.waitingFor
		}
	}
}

func stateOf(components []styrminv1.ComponentStatus, name string) styrminv1.ComponentState {
	for i := range components {
		if components[i].Name == name {
			return components[i].State
		}
	}
	return ""
}

// judgedComponent is a component's status and what it still lacks.
type judgedComponent struct {
	status     styrminv1.ComponentStatus
	waitingFor string
}

// judgeComponent compares one component with its workloads and pods.
func judgeComponent(c *styrminv1.ComponentSpec, workloads []workload, pods []corev1.Pod, failures []podFailure) judgedComponent {
	out := judgedComponent{status: styrminv1.ComponentStatus{Name: c.Name, Desired: c.DesiredReplicas()}}
	selector, err := c.PodSelector()
	if err != nil {
		out.status.State = styrminv1.ComponentError // checkSelectors says so.
		return out
	}
	mine := podsOf(pods, selector)
	for _, pod := range mine {
		if isReady(pod) {
			out.status.Ready++
		}
	}
	own := matching(workloads, selector)
	if c.ReplicasValue == "" && len(own) > 0 {
		// The chart alone says how many there are to be.
		out.status.Desired = declaredBy(own)
	}
	out.waitingFor = lacking(out.status, own, mine)
	switch {
	case failsAny(mine, failures):
		out.status.State = styrminv1.ComponentError
	case out.waitingFor != "":
		out.status.State = styrminv1.ComponentProgressing
	case c.IsRunning():
		out.status.State = styrminv1.ComponentRunning
	default:
		out.status.State = styrminv1.ComponentStopped
	}
	return out
}

// declaredBy is how many pods the workloads are told to run.
func declaredBy(workloads []workload) int32 {
	var declared int32
	for _, w := range workloads {
		declared += w.declared
	}
	return declared
}

// lacking says what keeps the component from being as declared, or "".
func lacking(have styrminv1.ComponentStatus, workloads []workload, pods []*corev1.Pod) string {
	var observed int32
	for _, w := range workloads {
		observed += w.observed
	}
	declared := declaredBy(workloads)
	switch {
	case len(workloads) == 0 && len(pods) == 0 && have.Desired > 0:
		return fmt.Sprintf("component %s: no workload or pod matches its selector", have.Name)
	case len(workloads) > 0 && declared != have.Desired:
		return fmt.Sprintf("component %s: its workloads declare %d replicas, not %d%s", have.Name, declared, have.Desired, autoscaled(workloads))
	case have.Desired == 0 && (observed > 0 || len(pods) > 0):
		return fmt.Sprintf("component %s: %d pods are left", have.Name, max(int(observed), len(pods)))
	}
	for _, w := range workloads {
		if w.state != status.CurrentStatus {
			return fmt.Sprintf("component %s: %d of %d pods are ready; %s %s: %s%s",
				have.Name, have.Ready, have.Desired, w.kind, w.name, w.message, unscheduled(pods))
		}
	}
	if have.Ready < have.Desired {
		return fmt.Sprintf("component %s: %d of %d pods are ready%s", have.Name, have.Ready, have.Desired, unscheduled(pods))
	}
	return ""
}

// unscheduled tells of the first pod that has no node.
func unscheduled(pods []*corev1.Pod) string {
	for _, pod := range pods {
		if problem := schedulingProblem(pod); problem != "" {
			return fmt.Sprintf("; pod %s has no node: %s", pod.Name, problem)
		}
	}
	return ""
}

// podsOf returns the pods that a selector selects and that have not finished.
func podsOf(pods []corev1.Pod, selector labels.Selector) []*corev1.Pod {
	var mine []*corev1.Pod
	for i := range pods {
		if !isFinished(&pods[i]) && selector.Matches(labels.Set(pods[i].Labels)) {
			mine = append(mine, &pods[i])
		}
	}
	return mine
}

func matching(workloads []workload, selector labels.Selector) []workload {
	var mine []workload
	for _, w := range workloads {
		if selector.Matches(w.podLabels) {
			mine = append(mine, w)
		}
	}
	return mine
}

func failsAny(pods []*corev1.Pod, failures []podFailure) bool {
	for _, pod := range pods {
		for _, f := range failures {
			if f.pod == pod.Name {
				return true
			}
		}
	}
	return false
}
