// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import "github.com/styrmin/styrmin/server"

// tone is how something looks: a colour and a sign, so that no meaning is in the
// colour alone. It is the name of a class of the style sheet.
type tone string

const (
	toneOK   tone = "ok"
	toneBusy tone = "busy"
	toneBad  tone = "bad"
	toneWarn tone = "warn"
	toneWait tone = "wait"
	toneGone tone = "gone"
)

func toneOfDeployment(status server.DeploymentStatusName) tone {
	switch status {
	case server.DeploymentRunning:
		return toneOK
	case server.DeploymentFailed:
		return toneBad
	case server.DeploymentDeploying, server.DeploymentDeleting:
		return toneBusy
	case server.DeploymentDeleted:
		return toneGone
	}
	return toneWait
}

func toneOfResult(result server.TaskResult) tone {
	switch result {
	case server.ResultSucceeded:
		return toneOK
	case server.ResultFailed:
		return toneBad
	case server.ResultSuperseded:
		return toneGone
	}
	return toneBusy
}

func toneOfStep(status server.StepStatus) tone {
	switch status {
	case server.StepSucceeded:
		return toneOK
	case server.StepFailed:
		return toneBad
	case server.StepRunning:
		return toneBusy
	case server.StepCancelled:
		return toneGone
	}
	return toneWait
}

// toneOfPod tells pods that serve from those that start, fail, have done their
// work or go.
func toneOfPod(pod *server.PodStatus) tone {
	switch {
	case pod.DeletionRequestedAt != nil:
		return toneGone
	case pod.Phase == "Succeeded":
		return toneWait
	case pod.Phase == "Failed":
		return toneBad
	case pod.Ready:
		return toneOK
	}
	for i := range pod.Containers {
		if toneOfContainer(&pod.Containers[i]) == toneBad {
			return toneBad
		}
	}
	return toneBusy
}

// waitingReasons are why a container waits that simply starts.
var waitingReasons = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

func toneOfContainer(container *server.ContainerStatus) tone {
	switch container.State {
	case server.ContainerStateWaiting:
		if !waitingReasons[deref(container.Reason)] {
			return toneBad
		}
		return toneBusy
	case server.ContainerStateTerminated:
		if container.ExitCode != nil && *container.ExitCode != 0 {
			return toneBad
		}
		return toneWait
	}
	if container.Ready {
		return toneOK
	}
	return toneBusy
}

func deref[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}
