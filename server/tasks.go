// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "slices"

// Tasks are tasks of one deployment, with those above and below each.
type Tasks []Task

// Find returns the task, or nil.
func (ts Tasks) Find(id string) *Task {
	for i := range ts {
		if ts[i].ID == id {
			return &ts[i]
		}
	}
	return nil
}

// rollingOut returns the task that rolls out the instance, or nil.
func (ts Tasks) rollingOut(instanceID string) *Task {
	for i := range ts {
		if id := ts[i].InstanceID; id != nil && *id == instanceID {
			return &ts[i]
		}
	}
	return nil
}

// parent returns the task whose hook step started t, or nil.
func (ts Tasks) parent(t *Task) *Task {
	if t.ParentTaskID == nil {
		return nil
	}
	return ts.Find(*t.ParentTaskID)
}

// startedBy returns the task that the hook step started for the change, or nil.
func (ts Tasks) startedBy(stepID string, hook Change) *Task {
	for i := range ts {
		if id := ts[i].HookStepID; id != nil && *id == stepID && ts[i].Change.sameHook(hook) {
			return &ts[i]
		}
	}
	return nil
}

// below returns the tasks that the hook steps of t started, in order.
func (ts Tasks) below(t *Task) []*Task {
	var hooks []*Task
	for i := range ts {
		if id := ts[i].ParentTaskID; id != nil && *id == t.ID {
			hooks = append(hooks, &ts[i])
		}
	}
	return hooks
}

// sameHook tells whether two changes ask a hook step for the same.
func (c Change) sameHook(other Change) bool {
	return c.Kind == other.Kind && c.Job == other.Job && slices.Equal(c.Components, other.Components)
}
