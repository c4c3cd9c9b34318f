// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// NamespaceOwners maps target namespaces to the deployments whose pods they
// hold. Of several that claim one it is the one whose operator made the
// namespace, never one that the operator refuses it to (O7); the ids only make
// ties stable.
func NamespaceOwners(objects []DeploymentStatus) map[string]string {
	best := map[string]*DeploymentStatus{}
	for i := range objects {
		object := &objects[i]
		if object.TargetNamespace == nil {
			continue
		}
		if rival := best[*object.TargetNamespace]; rival == nil || ownsRather(object, rival) {
			best[*object.TargetNamespace] = object
		}
	}
	owners := make(map[string]string, len(best))
	for namespace, object := range best {
		owners[namespace] = object.DeploymentID
	}
	return owners
}

func ownsRather(a, b *DeploymentStatus) bool {
	return cmp.Or(cmp.Compare(claim(a), claim(b)), cmp.Compare(a.DeploymentID, b.DeploymentID)) < 0
}

// claim ranks how good an object's claim to its target namespace is.
func claim(object *DeploymentStatus) int {
	for i := range object.Conditions {
		condition := &object.Conditions[i]
		if condition.Type != styrminv1.ConditionPrerequisitesReady {
			continue
		}
		switch {
		case condition.Status == "True":
			return 0
		case optionalText(condition.Reason) == styrminv1.ReasonConflict:
			return 2
		}
	}
	return 1
}

// MovedNamespaces are the namespaces whose pods belong to another deployment
// once the objects of before are those of after: each with its new owner, ""
// for none.
func MovedNamespaces(before, after []DeploymentStatus) map[string]string {
	had, has := NamespaceOwners(before), NamespaceOwners(after)
	moved := map[string]string{}
	for namespace, owner := range has {
		if had[namespace] != owner {
			moved[namespace] = owner
		}
	}
	for namespace := range had {
		if _, still := has[namespace]; !still {
			moved[namespace] = ""
		}
	}
	return moved
}
