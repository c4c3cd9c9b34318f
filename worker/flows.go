// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import "sync"

// flows are those that run here. Ordinary ones are bounded. Those of hook tasks
// are not: an ordinary flow waits for each, so there are never many, and one that
// did not find a place would hold up the flow that holds its place (W1).
type flows struct {
	most int
	// hookWaits tells that a flow waits for a hook task that does not run here.
	hookWaits chan struct{}

	mu       sync.Mutex
	leases   map[string]*lease
	ordinary int
}

func newFlows(most int) *flows {
	return &flows{most: most, hookWaits: make(chan struct{}, 1), leases: map[string]*lease{}}
}

// add takes in a task that was claimed. Where its flow runs here already, that
// flow's lease is renewed instead, and the answer is false.
func (f *flows) add(task *TaskFields, lease *lease) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if running := f.leases[task.Id]; running != nil {
		running.extend(lease.end())
		return false
	}
	f.leases[task.Id] = lease
	if task.ParentTaskId == nil {
		f.ordinary++
	}
	return true
}

// remove takes out a flow that does not run any more.
func (f *flows) remove(task *TaskFields) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.leases, task.Id)
	if task.ParentTaskId == nil {
		f.ordinary--
	}
}

// runs tells whether the flow of a task runs here.
func (f *flows) runs(taskID string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leases[taskID] != nil
}

// hasRoom tells whether another ordinary flow may run.
func (f *flows) hasRoom() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ordinary < f.most
}

// areHeld tells whether every lease is held. One that has run out while the
// server was away is renewed first: claiming would find its task as one that no
// worker has, and its flow would run twice here (W3).
func (f *flows) areHeld() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, lease := range f.leases {
		if !lease.isHeld() {
			return false
		}
	}
	return true
}

// waitForHook makes the worker look for a hook task, whether there is room or
// not: the server gives out hook tasks first.
func (f *flows) waitForHook() {
	select {
	case f.hookWaits <- struct{}{}:
	default:
	}
}
