// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// selection is what of the cluster is reported.
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

func (s *selection) hasDeployment(deployment *styrminv1.StyrminDeployment) bool {
	return s.namespaces.Len() == 0 ||
		s.namespaces.Has(deployment.Namespace) ||
		s.namespaces.Has(deployment.TargetNamespace())
}
