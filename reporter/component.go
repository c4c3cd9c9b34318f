// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// componentSelector finds the pods of one component in a target namespace.
type componentSelector struct {
	component string
	selector  labels.Selector
}

// namespaceComponents are the components of the deployments that have one
// target namespace.
type namespaceComponents struct {
	// version tells whether they are the same as before: equal for equal objects.
	version   string
	selectors []componentSelector
}

// componentIndex finds the component of a pod, by target namespace.
type componentIndex map[string]*namespaceComponents

// newComponentIndex reads the selectors of the deployments' components. One that
// is not valid names no pod; an empty one, as everywhere, names all.
func newComponentIndex(deployments []*styrminv1.StyrminDeployment) componentIndex {
	sorted := slices.SortedFunc(slices.Values(deployments), func(a, b *styrminv1.StyrminDeployment) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	claims := map[string][]*styrminv1.StyrminDeployment{}
	for _, deployment := range sorted {
		target := deployment.TargetNamespace()
		claims[target] = append(claims[target], deployment)
	}
	index := make(componentIndex, len(claims))
	for target, claimants := range claims {
		components := &namespaceComponents{}
		for _, deployment := range owners(claimants) {
			components.add(deployment)
		}
		index[target] = components
	}
	return index
}

// owners returns those of a namespace's claimants that the operator does not
// refuse it to: the pods there are none of the others'. Where it refuses
// something to all of them, nothing tells them apart.
func owners(claimants []*styrminv1.StyrminDeployment) []*styrminv1.StyrminDeployment {
	kept := slices.DeleteFunc(slices.Clone(claimants), func(d *styrminv1.StyrminDeployment) bool {
		c := meta.FindStatusCondition(d.Status.Conditions, styrminv1.ConditionPrerequisitesReady)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == styrminv1.ReasonConflict
	})
	if len(kept) == 0 {
		return claimants
	}
	return kept
}

func (n *namespaceComponents) add(deployment *styrminv1.StyrminDeployment) {
	n.version += fmt.Sprintf("%s@%d;", deployment.UID, deployment.Generation)
	for i := range deployment.Spec.Components {
		selector, err := deployment.Spec.Components[i].PodSelector()
		if err != nil {
			continue
		}
		n.selectors = append(n.selectors, componentSelector{deployment.Spec.Components[i].Name, selector})
	}
}

// version returns what the components of the namespace's pods depend on.
func (x componentIndex) version(namespace string) string {
	if components := x[namespace]; components != nil {
		return components.version
	}
	return ""
}

// find returns the component whose selector matches a pod with these labels in
// the namespace, the first in the order of deployments and of their specs, or
// "".
func (x componentIndex) find(namespace string, podLabels map[string]string) string {
	components := x[namespace]
	if components == nil {
		return ""
	}
	for _, c := range components.selectors {
		if c.selector.Matches(labels.Set(podLabels)) {
			return c.component
		}
	}
	return ""
}
