// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// selection is which pods are reported. The StyrminDeployments always are, all of
// them: one that a report leaves out counts as gone.
type selection struct {
	// podSelector is nil for all.
	podSelector labels.Selector
	// namespaces is empty for all.
	namespaces sets.Set[string]
}

func (s *selection) hasPod(pod *corev1.Pod) bool {
	if s.namespaces.Len() > 0 && !s.namespaces.Has(pod.Namespace) {
		return false
	}
	return s.podSelector == nil || s.podSelector.Matches(labels.Set(pod.Labels))
}
