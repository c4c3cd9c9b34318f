// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "time"

// record notes that the task's spec write or deletion request is about to
// reach the cluster. From here on the operator no longer works on anything
// earlier: the unfinished steps of earlier tasks are cancelled, which supersedes
// those tasks that have no failure (R10). The tasks above a hook task are not
// earlier: the hook is part of them.
func (s *State) record(task *Task, now time.Time) {
	above := map[string]bool{task.ID: true}
	for parent := s.Tasks.parent(task); parent != nil; parent = s.Tasks.parent(parent) {
		above[parent.ID] = true
	}
	var newest int64
	for i := range s.Tasks {
		earlier := &s.Tasks[i]
		newest = max(newest, earlier.RecordSequence)
		if earlier.Recorded() && !above[earlier.ID] {
			earlier.supersede(now)
		}
	}
	task.RecordSequence = newest + 1
	if steps := task.operatorSteps(); len(steps) > 0 {
		steps[0].begin(now)
	}
}

// supersede ends what the operator will not do any more.
func (t *Task) supersede(now time.Time) {
	for i := range t.Steps {
		if step := &t.Steps[i]; step.Unfinished() {
			step.cancel(now)
			t.Superseded = true
		}
	}
}
