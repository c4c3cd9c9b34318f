// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "slices"

// Clone returns a copy that a rule may change without changing s. What is
// behind pointers is never changed in place, only replaced, and is shared.
func (s *State) Clone() *State {
	clone := *s
	clone.Instances = slices.Clone(s.Instances)
	clone.Tasks = slices.Clone(s.Tasks)
	for i := range clone.Tasks {
		steps := slices.Clone(clone.Tasks[i].Steps)
		for j := range steps {
			steps[j].Attempts = slices.Clone(steps[j].Attempts)
		}
		clone.Tasks[i].Steps = steps
	}
	return &clone
}
