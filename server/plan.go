// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"strings"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// The names of the steps that flows run.
const (
	stepSpecWrite       = "Write the StyrminDeployment"
	stepDeletionRequest = "Request the deletion"
)

// The names of the steps that reports move (R6, R9).
const (
	stepPrerequisites = "Create network policies and secrets"
	stepHelmRelease   = "Install or upgrade the HelmRelease"
	stepServices      = "Create services and middlewares"
	stepReady         = "Wait for the deployment to be ready"
	stepRemove        = "Remove the deployment's resources and namespace"
)

// plan makes the steps of a task (W1). declared is the spec that the task finds
// when its turn comes. Tasks of internal deployments have no operator-phase
// steps (R13).
func plan(change Change, declared spec, internal bool, newID func() string) ([]Step, error) {
	var hooks hooks
	var operator []string
	var own string
	switch change.Kind {
	case TaskRunJob:
		own = "Run job " + change.Job
	case TaskDelete:
		own, operator = stepDeletionRequest, []string{stepRemove}
	default:
		own, operator = stepSpecWrite, []string{stepPrerequisites, stepHelmRelease, stepServices, stepReady}
	}
	if internal {
		operator = nil
	}
	if change.Kind == TaskUpdateVersion {
		var err error
		if hooks, err = upgradeHooks(declared); err != nil {
			return nil, err
		}
	}
	var steps []Step
	add := func(name string, kind StepKind, hook *Change) {
		steps = append(steps, Step{ID: newID(), Name: name, Kind: kind, Status: StepPending, Hook: hook})
	}
	for i := range hooks.pre {
		add("Pre-upgrade hook: "+hooks.pre[i].summary(), StepHook, &hooks.pre[i])
	}
	add(own, StepFlow, nil)
	for _, name := range operator {
		add(name, StepOperatorPhase, nil)
	}
	for i := range hooks.post {
		add("Post-upgrade hook: "+hooks.post[i].summary(), StepHook, &hooks.post[i])
	}
	return steps, nil
}

// summary says in a few words what a hook does.
func (c Change) summary() string {
	switch c.Kind {
	case TaskRunJob:
		return "run job " + c.Job
	case TaskStartComponents:
		return "start " + strings.Join(c.Components, ", ")
	default:
		return "stop " + strings.Join(c.Components, ", ")
	}
}

// hooks are what runs before and after a flow's own write.
type hooks struct{ pre, post []Change }

// upgradeHooks reads the hooks of a change of the version.
func upgradeHooks(declared spec) (hooks, error) {
	raw, err := json.Marshal(declared["hooks"])
	if err != nil {
		return hooks{}, fmt.Errorf("encoding a spec's hooks: %w", err)
	}
	var typed styrminv1.HooksSpec
	if err := json.Unmarshal(raw, &typed); err != nil {
		return hooks{}, InvalidInput("spec.hooks", "%v", err)
	}
	if typed.Upgrade == nil {
		return hooks{}, nil
	}
	var read hooks
	if read.pre, err = hookChanges("pre", typed.Upgrade.Pre); err != nil {
		return hooks{}, err
	}
	if read.post, err = hookChanges("post", typed.Upgrade.Post); err != nil {
		return hooks{}, err
	}
	return read, nil
}

func hookChanges(when string, actions []styrminv1.HookAction) ([]Change, error) {
	var changes []Change
	for i, action := range actions {
		set := 0
		var change Change
		if len(action.StopComponents) > 0 {
			change, set = Change{Kind: TaskStopComponents, Components: action.StopComponents}, set+1
		}
		if len(action.StartComponents) > 0 {
			change, set = Change{Kind: TaskStartComponents, Components: action.StartComponents}, set+1
		}
		if action.RunJob != "" {
			change, set = Change{Kind: TaskRunJob, Job: action.RunJob}, set+1
		}
		if set != 1 {
			return nil, InvalidInput(fmt.Sprintf("spec.hooks.upgrade.%s[%d]", when, i),
				"exactly one of stopComponents, startComponents and runJob must be set")
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// writesObject tells whether the flow's step writes the StyrminDeployment, or deletes
// it.
func (s *Step) writesObject() bool {
	return s.Kind == StepFlow && (s.Name == stepSpecWrite || s.Name == stepDeletionRequest)
}
