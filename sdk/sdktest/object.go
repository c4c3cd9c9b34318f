// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"fmt"
	"time"
)

// BrokenVersion is a version whose server never runs: its image does not exist.
const BrokenVersion = "9.9.9"

// brokenMessage is what the operator says of it.
const brokenMessage = "Helm upgrade failed: timed out waiting for the condition"

// The phases at which a rollout ends.
const (
	phaseReady  = "Ready"
	phaseFailed = "Failed"
)

// phaseOf is a phase on the way.
func phaseOf(phase string) state { return state{phase, "Deploying", ""} }

// state is what the operator says of an object.
type state struct{ phase, displayState, message string }

// at moves the object to a state, with the conditions and pods that go with it.
func (o *object) at(s state) {
	o.phase, o.displayState, o.message = s.phase, s.displayState, s.message
	done := map[string]int{"CreatingHelmRelease": 1, phaseFailed: 1, "CreatingServices": 2, phaseReady: 4}[s.phase]
	now := time.Now().UTC().Format(time.RFC3339Nano)
	o.conditions = nil
	for i, name := range []string{"PrerequisitesReady", "HelmReleaseReady", "ServicesReady", "Ready"} {
		status := "False"
		if i < done {
			status = "True"
		}
		o.conditions = append(o.conditions, map[string]any{"type": name, "status": status, "lastTransitionTime": now})
	}
	switch s.phase {
	case phaseReady:
		o.pods = o.wantedPods("")
	case phaseFailed:
		o.pods = o.wantedPods("ImagePullBackOff")
	case "Deleted":
		o.pods = nil
	}
}

// end is the state that the object comes to.
func (o *object) end() state {
	if o.spec.Version == BrokenVersion {
		return state{phaseFailed, "Error", brokenMessage}
	}
	return state{phaseReady, "Running", ""}
}

func (o *object) namespace() string {
	if o.spec.TargetNamespace != "" {
		return o.spec.TargetNamespace
	}
	return o.name
}

// replicas are what the spec declares of each component; 0 for a stopped one.
func (o *object) replicas(component int) int {
	declared := o.spec.Components[component]
	switch {
	case declared.Running != nil && !*declared.Running:
		return 0
	case declared.Replicas == nil:
		return 1
	}
	return *declared.Replicas
}

// wantedPods are the pods of the declared components: running, or those of the
// first component waiting with a reason.
func (o *object) wantedPods(reason string) []any {
	pods := []any{}
	for i, component := range o.spec.Components {
		for n := range o.replicas(i) {
			name := fmt.Sprintf("%s-%s-%d", o.name, component.Name, n)
			if i == 0 && reason != "" {
				pods = append(pods, waitingPod(name, component.Name, reason))
			} else {
				pods = append(pods, runningPod(name, component.Name))
			}
		}
	}
	return pods
}

func runningPod(name, component string) map[string]any {
	return map[string]any{
		"uid": "uid-" + name, "name": name, "node": "node-1", "component": component, "phase": "Running", "status": "Running",
		"ready": true, "readyContainers": 1, "totalContainers": 1, "restarts": 0, "createdAt": "2026-11-29T12:00:00Z",
		"containers": []any{map[string]any{
			"name": component, "kind": "APP", "ready": true, "restarts": 0, "state": "RUNNING", "startedAt": "2026-11-29T12:00:05Z",
		}},
	}
}

func waitingPod(name, component, reason string) map[string]any {
	message := fmt.Sprintf("Back-off pulling image \"registry.example/%s\"", component)
	return map[string]any{
		"uid": "uid-" + name, "name": name, "node": "node-1", "component": component, "phase": "Pending", "status": reason,
		"message": message, "ready": false, "readyContainers": 0, "totalContainers": 1, "restarts": 0, "createdAt": "2026-11-29T12:00:00Z",
		"containers": []any{map[string]any{
			"name": component, "kind": "APP", "ready": false, "restarts": 0, "state": "WAITING", "reason": reason, "message": message,
		}},
	}
}

// row is the object as it is reported.
func (o *object) row() map[string]any {
	components := make([]any, 0, len(o.spec.Components))
	for i, component := range o.spec.Components {
		desired, ready, state := o.replicas(i), 0, "Progressing"
		switch {
		case o.phase == phaseFailed && i == 0:
			state = "Error"
		case o.phase == phaseFailed || o.phase == phaseReady:
			ready, state = desired, "Running"
		}
		if desired == 0 {
			state = "Stopped"
		}
		components = append(components, map[string]any{"name": component.Name, "desired": desired, "ready": ready, "state": state})
	}
	return map[string]any{
		"uid": "uid-" + o.id, "namespace": "styrmin", "name": o.name, "deploymentId": o.id, "instanceId": o.instance,
		"generation": 1, "observedGeneration": 1, "targetNamespace": o.namespace(),
		"phase": o.phase, "displayState": o.displayState, "message": o.message,
		"conditions": o.conditions, "components": components,
	}
}
