// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// simulatedNodeAnnotation marks the nodes that kwok plays the kubelet of.
const simulatedNodeAnnotation = "kwok.x-k8s.io/node"

func nodeName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// prepareNodes makes the simulated nodes that do not exist yet, and removes the leases of an earlier run: that run's kwok
// holds them beyond its end, and this run's would leave the nodes and their pods alone until they expire.
func prepareNodes(ctx context.Context, c client.Client, count int) error {
	if err := c.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(corev1.NamespaceNodeLease)); err != nil {
		return fmt.Errorf("release the nodes of the last run: %w", err)
	}
	for i := range count {
		name := nodeName(i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{simulatedNodeAnnotation: "fake"},
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
		}}
		if err := c.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %s: %w", name, err)
		}
	}
	return nil
}

// nodesReady returns a probe that succeeds when each node is Ready and its kubelet holds its lease: nodes of an earlier
// run look Ready until someone notices that they are not.
func nodesReady(c client.Client, count int) func(context.Context) error {
	return func(ctx context.Context) error {
		for i := range count {
			name := nodeName(i)
			var node corev1.Node
			if err := c.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
				return err
			}
			if !isReady(&node) {
				return fmt.Errorf("node %s is not Ready", name)
			}
			var lease coordinationv1.Lease
			if err := c.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: name}, &lease); err != nil {
				return err
			}
		}
		return nil
	}
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// serviceAccountExists returns a probe for the account that pods without one of their own run as: admission refuses pods
// until the controllers have made it.
func serviceAccountExists(c client.Client) func(context.Context) error {
	return func(ctx context.Context) error {
		var account corev1.ServiceAccount
		return c.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: "default"}, &account)
	}
}
