// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"

// checkSelectors refuses components whose pods or numbers cannot be told apart,
// and would be waited for in vain. The schema cannot: a Kubernetes label selector
// is too large for its rules. An empty selector takes every pod of the namespace,
// which is right for an only component.
func checkSelectors(d *styrminv1.StyrminDeployment) error {
	components := d.Spec.Components
	bySelector, byValue := map[string]*styrminv1.ComponentSpec{}, map[string]string{}
	for i := range components {
		selector, err := components[i].PodSelector()
		if err != nil {
			return invalidSpec("spec.components[%d].selector: %s; correct it", i, err)
		}
		if selector.Empty() && len(components) > 1 {
			return invalidSpec("spec.components[%d].selector: that of component %s is empty and takes the pods of the others too; give it matchLabels",
				i, components[i].Name)
		}
		if other := bySelector[selector.String()]; other != nil && (other.ReplicasValue != "" || components[i].ReplicasValue != "") {
			return invalidSpec("spec.components[%d].selector: components %s and %s have the same one, and would each count the other's replicas; "+
				"give each its own", i, other.Name, components[i].Name)
		}
		bySelector[selector.String()] = &components[i]
		if path := components[i].ReplicasValue; path != "" {
			if other, ok := byValue[path]; ok {
				return invalidSpec("spec.components[%d].replicasValue: components %s and %s have the same one; give each its own", i, other, components[i].Name)
			}
			byValue[path] = components[i].Name
		}
	}
	return nil
}
