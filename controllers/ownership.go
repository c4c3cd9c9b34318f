// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// owns tells whether an object was made for the scope's deployment (O7): it has
// the deployment's id, and no other StyrminDeployment is named as its owner.
func (s *scope) owns(obj client.Object) bool {
	owner := obj.GetAnnotations()[styrminv1.AnnotationOwner]
	return obj.GetLabels()[styrminv1.LabelDeploymentID] == s.id && (owner == "" || owner == s.owner())
}

// mark puts the deployment's id and owner on an object that is to be applied.
func (s *scope) mark(obj client.Object) {
	obj.SetLabels(with(obj.GetLabels(), styrminv1.LabelDeploymentID, s.id))
	annotations := with(obj.GetAnnotations(), styrminv1.AnnotationOwner, s.owner())
	obj.SetAnnotations(with(annotations, styrminv1.AnnotationInstanceID, s.deployment.InstanceID()))
}

func with(m map[string]string, key, value string) map[string]string {
	out := make(map[string]string, len(m)+1)
	for k, v := range m {
		out[k] = v
	}
	out[key] = value
	return out
}

// ownerRequests maps an object that the operator made to its StyrminDeployment.
// An owner reference cannot say it: it does not cross namespaces.
func ownerRequests(_ context.Context, obj client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(obj.GetAnnotations()[styrminv1.AnnotationOwner], "/")
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// conflictError says that an object of the needed name exists and is not the
// deployment's; it stays untouched (O7).
type conflictError struct {
	kind string
	key  client.ObjectKey
	// owner is what the object says about who made it, if anything.
	owner string
}

func newConflictError(kind string, obj client.Object) *conflictError {
	e := &conflictError{kind: kind, key: client.ObjectKeyFromObject(obj)}
	if owner := obj.GetAnnotations()[styrminv1.AnnotationOwner]; owner != "" {
		e.owner = "StyrminDeployment " + owner
	} else if id := obj.GetLabels()[styrminv1.LabelDeploymentID]; id != "" {
		e.owner = "deployment " + id
	}
	return e
}

func (e *conflictError) Error() string {
	name := e.key.Name
	if e.key.Namespace != "" {
		name = e.key.String()
	}
	made := "was not made by Styrmin"
	if e.owner != "" {
		made = "belongs to " + e.owner
	}
	return fmt.Sprintf("%s %s exists and %s; it is left untouched: remove it or choose another name", e.kind, name, made)
}
