// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// listMade lists the objects of the list's kind in the target namespace that
// were made for the deployment.
func listMade(ctx context.Context, reader client.Reader, s *scope, list client.ObjectList) ([]client.Object, error) {
	err := reader.List(ctx, list, client.InNamespace(s.namespace),
		client.MatchingLabels{styrminv1.LabelDeploymentID: s.id})
	if err != nil {
		return nil, fmt.Errorf("listing %T in %s: %w", list, s.namespace, err)
	}
	var made []client.Object
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(client.Object); ok && s.owns(obj) {
			made = append(made, obj)
		}
		return nil
	})
	return made, err
}

// delete deletes this very object, never another one that took its name. That
// it is gone already is what was wanted.
func (r *reconciler) delete(ctx context.Context, obj client.Object) error {
	countWrite("delete", kindOf(obj, r.scheme))
	uid := obj.GetUID()
	err := r.client.Delete(ctx, obj,
		client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s: %w", kindOf(obj, r.scheme), client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
