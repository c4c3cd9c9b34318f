// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"time"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// conditionOf names the condition that turns True when the step is done.
var conditionOf = map[string]string{
	stepPrerequisites: styrminv1.ConditionPrerequisitesReady,
	stepHelmRelease:   styrminv1.ConditionHelmReleaseReady,
	stepServices:      styrminv1.ConditionServicesReady,
	stepReady:         styrminv1.ConditionReady,
}

// nowhere is the progress of a phase that tells of none.
const nowhere = -1

// observation is a report as the steps of a task see it.
type observation struct {
	*DeploymentStatus
	receipt Receipt
	pods    func() []PodStatus
}

// applySteps moves the operator-phase steps of the task that rolled out the
// reported instance (R6 to R8), or those of the newest deletion (R9). A report
// that may speak of the rollout before moves none (R4), nor does one of an
// instance after which something was written or deleted (R10).
func (s *State) applySteps(seen observation) {
	switch styrminv1.Phase(seen.Phase) {
	case styrminv1.PhaseDeleting, styrminv1.PhaseDeleted:
		if task := s.Tasks.newestDeletion(); task != nil {
			task.observe(seen.removal)
		}
		return
	}
	if s.Deployment.DeletionRequestedAt != nil || inDoubt(seen.DeploymentStatus) {
		return
	}
	task := s.Tasks.rollingOut(seen.InstanceID)
	if task == nil || !task.Recorded() || !s.isNewest(seen.InstanceID) {
		return
	}
	task.observe(seen.rollout)
}

// observe has a report move the steps of the task.
func (t *Task) observe(move func([]*Step)) {
	steps := t.operatorSteps()
	isDone := func(step *Step) bool { return step.Status == StepSucceeded }
	pending := slices.DeleteFunc(slices.Clone(steps), isDone)
	move(steps)
	if slices.ContainsFunc(pending, isDone) {
		t.progressed()
	}
}

// rollout moves the steps of a rollout.
func (o observation) rollout(steps []*Step) {
	reached, failing := o.reached(), o.failing()
	for i, step := range steps {
		if i < reached || failing && o.isTrue(conditionOf[step.Name]) {
			o.succeed(step, before(steps, i))
		}
	}
	for i, step := range steps {
		if step.Status == StepSucceeded {
			continue
		}
		switch {
		case failing:
			o.fail(step, before(steps, i))
		case i == reached:
			o.run(step)
		}
		return
	}
}

// removal moves the step of a deletion (R9); its errors name no pods.
func (o observation) removal(steps []*Step) {
	for _, step := range steps {
		switch {
		case step.Status == StepSucceeded:
		case styrminv1.Phase(o.Phase) == styrminv1.PhaseDeleted:
			o.succeed(step, nil)
		case o.failing():
			o.fail(step, nil)
		default:
			o.run(step)
		}
	}
}

// reached is how many steps of a rollout lie behind the reported phase (R6). A
// phase that is unknown, or Failed, tells of none and starts none.
func (o observation) reached() int {
	switch styrminv1.Phase(o.Phase) {
	case styrminv1.PhaseCreatingPrerequisites:
		return 0
	case styrminv1.PhaseCreatingHelmRelease:
		return 1
	case styrminv1.PhaseCreatingServices:
		if o.isTrue(styrminv1.ConditionServicesReady) {
			return 3
		}
		return 2
	case styrminv1.PhaseReady:
		return 4
	default:
		return nowhere
	}
}

// failing tells whether the report shows a failure (R7). In phase Ready it
// finds no step that it could be a failure of (R6).
func (o observation) failing() bool {
	return styrminv1.Phase(o.Phase) == styrminv1.PhaseFailed ||
		styrminv1.DisplayState(o.DisplayState) == styrminv1.DisplayStateError
}

// run shows the operator at work on the step: a failed one runs again as a new
// attempt (R8).
func (o observation) run(step *Step) {
	if step.Status == StepPending || step.Status == StepFailed {
		step.begin(o.receipt.At)
	}
}

// succeed ends the step well. One that no report showed running began when the
// step before it ended; one that had failed ran again unseen.
func (o observation) succeed(step, previous *Step) {
	switch step.Status {
	case StepSucceeded:
		return
	case StepPending:
		step.begin(o.unseenStart(previous))
	case StepFailed:
		step.begin(o.receipt.At)
	}
	step.end(StepSucceeded, o.endOf(step), nil)
}

// fail ends the step with the reported failure; the same failure again
// refreshes the attempt's message (R8).
func (o observation) fail(step, previous *Step) {
	reason := o.failure(step.Name)
	switch step.Status {
	case StepFailed:
		step.last().Error = &reason
		return
	case StepPending:
		step.begin(o.unseenStart(previous))
	}
	step.end(StepFailed, o.receipt.At, &reason)
}

// unseenStart is when a step began whose beginning no report showed.
func (o observation) unseenStart(previous *Step) time.Time {
	if previous != nil && previous.EndedAt() != nil {
		return *previous.EndedAt()
	}
	return o.receipt.At
}

// before returns the step before the i-th, or nil.
func before(steps []*Step, i int) *Step {
	if i == 0 {
		return nil
	}
	return steps[i-1]
}

// newestDeletion returns the task whose deletion request was recorded last, or
// nil.
func (ts Tasks) newestDeletion() *Task {
	var newest *Task
	for i := range ts {
		task := &ts[i]
		if task.Kind() == TaskDelete && task.Recorded() && (newest == nil || newest.RecordSequence < task.RecordSequence) {
			newest = task
		}
	}
	return newest
}

// operatorSteps are the steps that reports move, in order.
func (t *Task) operatorSteps() []*Step {
	var steps []*Step
	for i := range t.Steps {
		if t.Steps[i].Kind == StepOperatorPhase {
			steps = append(steps, &t.Steps[i])
		}
	}
	return steps
}
