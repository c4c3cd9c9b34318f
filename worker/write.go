// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=styrmin.io,resources=styrmindeployments,verbs=get;create;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;create

// fieldOwner is the field manager of every write of the worker.
const fieldOwner = client.FieldOwner("styrmin-worker")

// versionOfNone is a resourceVersion that no object has: it is that of a store in
// which nothing was written yet. What is applied with it is made, or refused as a
// conflict where it exists by then.
const versionOfNone = "1"

// writeSpec writes the task's instance to the StyrminDeployment (W1, W5). It is
// recorded first: the server then knows that everything before is superseded,
// whatever becomes of the write.
func (f *flow) writeSpec(ctx context.Context) error {
	instance, err := f.server.recordSpecWrite(ctx, f.id)
	if err != nil {
		return err
	}
	desired, err := declaration(f.object, instance)
	if err != nil {
		return err
	}
	return f.persistently(ctx, "writing a StyrminDeployment", func(ctx context.Context) error {
		return f.apply(ctx, desired.DeepCopy(), instance.DeploymentId)
	})
}

// declaration is the StyrminDeployment that declares the instance.
func declaration(key client.ObjectKey, instance *RecordedInstance) (*unstructured.Unstructured, error) {
	spec := map[string]any{}
	if err := utiljson.Unmarshal(instance.Spec, &spec); err != nil {
		return nil, permanently("reading the spec of instance %s: %v", instance.Id, err)
	}
	spec["deploymentId"], spec["instanceId"] = instance.DeploymentId, instance.Id
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(styrminv1.GroupVersion.WithKind(styrminv1.Kind))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object, nil
}

// apply writes the StyrminDeployment once, on what it is now: had it been made,
// changed or replaced since it was read, the write is refused, however late it
// reaches the API server (W3). One that is not the deployment's is never taken over.
func (f *flow) apply(ctx context.Context, desired *unstructured.Unstructured, deploymentID string) error {
	existing, err := f.read(ctx)
	switch {
	case err != nil:
		return err
	case existing == nil:
		if err := f.ensureNamespace(ctx); err != nil {
			return err
		}
		desired.SetResourceVersion(versionOfNone)
	case existing.DeletionTimestamp != nil:
		return unfinished("StyrminDeployment %s is still being deleted", f.object)
	default:
		if err := checkOwner(existing, deploymentID); err != nil {
			return err
		}
		desired.SetUID(existing.UID)
		desired.SetResourceVersion(existing.ResourceVersion)
	}
	err = f.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired), fieldOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying StyrminDeployment %s: %w", f.object, err)
	}
	return nil
}

// checkOwner refuses a StyrminDeployment that belongs to another deployment, or to
// whoever applied it by hand.
func checkOwner(existing *styrminv1.StyrminDeployment, deploymentID string) error {
	key := client.ObjectKeyFromObject(existing)
	switch existing.Spec.DeploymentID {
	case deploymentID:
		return nil
	case "":
		return permanently("StyrminDeployment %s exists and was applied by hand; it is left untouched: remove it or choose another name", key)
	default:
		return permanently("StyrminDeployment %s exists and belongs to deployment %s; it is left untouched: remove it or choose another name",
			key, existing.Spec.DeploymentID)
	}
}

// read returns the StyrminDeployment of the task as it is in the cluster, nil
// where there is none.
func (f *flow) read(ctx context.Context) (*styrminv1.StyrminDeployment, error) {
	existing := &styrminv1.StyrminDeployment{}
	err := f.live.Get(ctx, f.object, existing)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading StyrminDeployment %s: %w", f.object, err)
	}
	return existing, nil
}

// ensureNamespace makes the namespace that holds the StyrminDeployments.
func (f *flow) ensureNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.object.Namespace}}
	err := f.live.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
	if apierrors.IsNotFound(err) {
		err = f.writer.Create(ctx, namespace, fieldOwner)
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making namespace %s: %w", f.object.Namespace, err)
	}
	if namespace.DeletionTimestamp != nil {
		return unfinished("namespace %s is being deleted", f.object.Namespace)
	}
	return nil
}
