// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// Of secrets the operator keeps metadata alone, and of few: those that it made, by
// their label, and those beside a StyrminDeployment that copies one (sources.go).
// Their contents are in no cache; each is read by itself when it is written
// (H02). The role must still be for all namespaces, since nobody knows beforehand
// where StyrminDeployments are and which namespaces they name, and RBAC knows no
// labels. Without list and watch the operator would have to ask for every secret
// again and again: a thousand settled deployments would cost more than watches.
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch;create;patch;delete

// annotationCopiedFrom marks a copied Secret with the one it is copied from.
// Only copies are removed when the spec no longer has them: generated values
// are kept for ever.
const annotationCopiedFrom = "styrmin.io/copied-from"

// secretAlphabet is what generated values are made of.
const secretAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// ensureSecrets makes the spec's secrets in the target namespace and removes
// copies that the spec no longer has.
func (r *reconciler) ensureSecrets(ctx context.Context, s *scope) error {
	wanted := make(map[string]bool, len(s.deployment.Spec.Secrets))
	for i := range s.deployment.Spec.Secrets {
		spec := &s.deployment.Spec.Secrets[i]
		wanted[spec.Name] = true
		if err := r.ensureSecret(ctx, s, spec); err != nil {
			return err
		}
	}
	return r.pruneCopies(ctx, s, wanted)
}

// ensureSecret makes one secret. Its contents are read only when it, or what it
// is copied from, has changed since they were last found right.
func (r *reconciler) ensureSecret(ctx context.Context, s *scope, spec *styrminv1.SecretSpec) error {
	key := client.ObjectKey{Namespace: s.namespace, Name: spec.Name}
	version, err := secretVersion(ctx, r.made, key)
	if err != nil {
		return err
	}
	seen := version
	if spec.FromSecret != nil {
		source, err := r.sources.version(ctx, client.ObjectKey{Namespace: s.deployment.Namespace, Name: spec.FromSecret.Name})
		if err != nil {
			return err
		}
		seen += "<" + source
	}
	seen += "@" + s.rollout()
	if version != "" && r.secrets.isRight(key, seen) {
		return nil
	}
	written, err := r.syncSecret(ctx, s, spec)
	if err == nil && !written {
		r.secrets.setRight(key, seen)
	}
	return err
}

// syncSecret compares a secret with what it should be and writes it where it
// differs.
func (r *reconciler) syncSecret(ctx context.Context, s *scope, spec *styrminv1.SecretSpec) (written bool, err error) {
	live := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.namespace, Name: spec.Name}
	err = r.live.Get(ctx, key, live)
	found := err == nil
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Secret %s: %w", key, err)
	}
	if found && !s.owns(live) {
		return false, newConflictError("Secret", live)
	}
	if found && !live.DeletionTimestamp.IsZero() {
		return false, waitUntilGone("Secret", live)
	}
	desired, err := r.desiredSecret(ctx, s, spec, live)
	if err != nil {
		return false, err
	}
	switch {
	case found && live.Type == desired.Type && isSameSecret(live, desired):
		return false, nil
	case found && spec.FromSecret != nil && (live.Type != desired.Type || ptr.Deref(live.Immutable, false)):
		// It cannot be changed: the copy is made anew, in the reconcile that the
		// event of its end brings.
		if err := r.delete(ctx, live); err != nil {
			return false, err
		}
		return false, waitUntilGone("Secret", live)
	}
	s.mark(desired)
	applied, err := applyConfiguration(desired, corev1.SchemeGroupVersion.WithKind("Secret"))
	if err != nil {
		return false, err
	}
	// A hash of the contents would help to guess them.
	applied.SetAnnotations(desired.Annotations)
	if found {
		applied.SetUID(live.UID)
	}
	wanted := wantedFields(applied)
	err = r.apply(ctx, applied)
	if err == nil && found && spec.FromSecret != nil {
		if surplus := surplusValues(applied, desired); len(surplus) > 0 {
			wanted["data"] = surplus
			err = r.replace(ctx, applied, wanted, live)
		}
	}
	if err != nil {
		return false, fmt.Errorf("applying Secret %s: %w", key, err)
	}
	return true, nil
}

// surplusValues returns the values that someone else added to a copy, which an
// apply leaves, as a merge patch has them that removes them.
func surplusValues(applied *unstructured.Unstructured, desired *corev1.Secret) map[string]any {
	surplus := map[string]any{}
	data, _, _ := unstructured.NestedMap(applied.Object, "data")
	for key := range data {
		if _, ok := desired.Data[key]; !ok {
			surplus[key] = nil
		}
	}
	return surplus
}

// desiredSecret is the copy of its source, or the live values with those that
// are still to be generated.
func (r *reconciler) desiredSecret(ctx context.Context, s *scope, spec *styrminv1.SecretSpec, live *corev1.Secret) (*corev1.Secret, error) {
	desired := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: spec.Name}}
	if spec.FromSecret != nil {
		source := &corev1.Secret{}
		key := client.ObjectKey{Namespace: s.deployment.Namespace, Name: spec.FromSecret.Name}
		err := r.live.Get(ctx, key, source)
		if apierrors.IsNotFound(err) {
			return nil, invalidSpec("Secret %s, which Secret %s is to be copied from, does not exist; create it", key, spec.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s: %w", key, err)
		}
		desired.Annotations = map[string]string{annotationCopiedFrom: key.String()}
		desired.Type, desired.Data = source.Type, source.Data
		return desired, nil
	}
	// Values that were generated are kept for ever, in a secret of whatever type.
	desired.Type = cmp.Or(live.Type, corev1.SecretTypeOpaque)
	desired.Data = make(map[string][]byte, len(spec.Generate.Keys))
	for key, value := range live.Data {
		desired.Data[key] = value
	}
	for _, key := range spec.Generate.Keys {
		if _, ok := desired.Data[key]; ok {
			continue
		}
		value, err := randomValue(int(spec.Generate.Length))
		if err != nil {
			return nil, err
		}
		desired.Data[key] = value
	}
	return desired, nil
}

// isSameSecret compares all that the operator writes but the instance.
func isSameSecret(live, desired *corev1.Secret) bool {
	return live.Annotations[annotationCopiedFrom] == desired.Annotations[annotationCopiedFrom] &&
		equality.Semantic.DeepEqual(live.Data, desired.Data)
}

// randomValue returns n random characters of the alphabet.
func randomValue(n int) ([]byte, error) {
	value := make([]byte, n)
	for i := range value {
		index, err := rand.Int(rand.Reader, big.NewInt(int64(len(secretAlphabet))))
		if err != nil {
			return nil, fmt.Errorf("generating a secret: %w", err)
		}
		value[i] = secretAlphabet[index.Int64()]
	}
	return value, nil
}

// pruneCopies removes copied secrets that the spec no longer has.
func (r *reconciler) pruneCopies(ctx context.Context, s *scope, wanted map[string]bool) error {
	list := secretMetadataList()
	made, err := listMade(ctx, r.made, s, list)
	if err != nil {
		return err
	}
	for _, obj := range made {
		if wanted[obj.GetName()] || obj.GetAnnotations()[annotationCopiedFrom] == "" || !obj.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := r.delete(ctx, obj); err != nil {
			return fmt.Errorf("removing a copied secret that the spec no longer has: %w", err)
		}
	}
	return nil
}

// secretVersion returns what identifies a secret's very contents, from a cache
// of metadata; empty where there is none.
func secretVersion(ctx context.Context, reader client.Reader, key client.ObjectKey) (string, error) {
	secret := secretMetadata()
	err := reader.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the metadata of Secret %s: %w", key, err)
	}
	return string(secret.UID) + "." + secret.ResourceVersion, nil
}

func secretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return secret
}

func secretMetadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	return list
}

// secretMemory remembers which versions of secrets were found right, so that
// their contents are not read each time. Losing it costs one read a secret.
type secretMemory struct{ seen sync.Map }

func (m *secretMemory) isRight(key client.ObjectKey, version string) bool {
	v, ok := m.seen.Load(key)
	return ok && v == version
}

func (m *secretMemory) setRight(key client.ObjectKey, version string) {
	m.seen.Store(key, version)
}

func (m *secretMemory) forget(key client.ObjectKey) { m.seen.Delete(key) }
