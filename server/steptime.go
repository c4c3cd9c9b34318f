// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// conditionPrecision is how exact the times of conditions are: Kubernetes
// writes whole seconds.
const conditionPrecision = time.Second

// endOf is when the step ended: at its condition's transition to True where
// the report has it, else at receipt (R3, R6). The agent's time is corrected by
// how far its clock was off when it sent the report. A time that still does not
// lie within the attempt belongs to another rollout or to a broken clock, and
// counts as none.
func (o observation) endOf(step *Step) time.Time {
	condition := o.trueCondition(conditionOf[step.Name])
	if condition == nil {
		return o.receipt.At
	}
	start := step.last().StartedAt
	end := condition.LastTransitionTime.Add(o.receipt.At.Sub(o.receipt.SentAt))
	switch {
	case end.After(o.receipt.At), !end.Add(conditionPrecision).After(start):
		return o.receipt.At
	case end.Before(start):
		return start
	default:
		return end
	}
}

// isTrue tells whether the condition is True for the observed generation.
func (o observation) isTrue(conditionType string) bool {
	return o.trueCondition(conditionType) != nil
}

// trueCondition returns the condition where it is True, and not of a spec
// before the observed one.
func (o observation) trueCondition(conditionType string) *Condition {
	for i := range o.Conditions {
		condition := &o.Conditions[i]
		if condition.Type != conditionType || condition.Status != "True" {
			continue
		}
		generation, observed := condition.ObservedGeneration, o.ObservedGeneration
		if generation != nil && observed != nil && *generation < *observed {
			continue
		}
		return condition
	}
	return nil
}
