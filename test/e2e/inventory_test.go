// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/test/system"
)

// inventory holds all objects of the cluster by their keys.
type inventory map[string]metav1.PartialObjectMetadata

// comesAndGoes are kinds whose objects other parts of the cluster make and remove
// at any time.
var comesAndGoes = []string{"Event", "ComponentStatus", "Endpoints", "IPAddress"}

// keyOf names an object by group, kind, namespace and name.
func keyOf(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().GroupKind()
	return fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName())
}

// overlay builds a folder below config.
func overlay(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := system.LoadOverlay(t.Context(), filepath.Join("../../config", name))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// takeInventory lists all objects of all kinds that the API server has.
func takeInventory(ctx context.Context) (inventory, error) {
	config, err := clientcmd.BuildConfigFromFlags("", sys.Kubeconfig)
	if err != nil {
		return nil, err
	}
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	reader := metadata.NewForConfigOrDie(config)
	found := inventory{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			resource := &list.APIResources[i]
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(comesAndGoes, resource.Kind) {
				continue
			}
			objects, err := reader.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", resource.Name, err)
			}
			for _, object := range objects.Items {
				object.SetGroupVersionKind(version.WithKind(resource.Kind))
				found[keyOf(&object)] = object
			}
		}
	}
	return found, nil
}

// onlyTheAgentIsGone checks that the agent's objects are gone, and of the others
// only those that Kubernetes made for them in their namespace.
func onlyTheAgentIsGone(before, after inventory, agents map[string]bool) error {
	var errs []error
	for key := range after {
		// The ConfigMap's name depends on what it holds.
		if agents[key] || strings.HasPrefix(key, "ConfigMap "+agentNamespace+"/styrmin-agent-") {
			errs = append(errs, fmt.Errorf("%s is left", key))
		}
	}
	for key, object := range before {
		now, left := after[key]
		switch {
		case left && now.UID != object.UID:
			errs = append(errs, fmt.Errorf("%s was replaced", key))
		case !left && !agents[key] && !madeForTheAgent(&object):
			errs = append(errs, fmt.Errorf("%s is gone", key))
		}
	}
	return errors.Join(errs...)
}

// madeForTheAgent tells whether Kubernetes or kustomize made the object for one of
// the agent's.
func madeForTheAgent(object *metav1.PartialObjectMetadata) bool {
	return object.Namespace == agentNamespace &&
		slices.Contains([]string{"ReplicaSet", "Pod", "Endpoints", "EndpointSlice", "ConfigMap"}, object.Kind)
}

// sameObjects checks that the cluster has the same objects, Leases of its own parts
// apart.
func sameObjects(before, after inventory) error {
	var errs []error
	for key := range before {
		if _, left := after[key]; !left {
			errs = append(errs, fmt.Errorf("%s is gone", key))
		}
	}
	for key := range after {
		if _, known := before[key]; !known && !strings.HasPrefix(key, "Lease.coordination.k8s.io kube-") {
			errs = append(errs, fmt.Errorf("%s is left", key))
		}
	}
	return errors.Join(errs...)
}
