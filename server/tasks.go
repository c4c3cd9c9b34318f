// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

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
