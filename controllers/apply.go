// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// annotationAppliedHash is the hash of what the operator last applied. With it
// a field that the operator no longer wants is noticed without asking the API
// server, which a comparison with the live object alone would miss.
const annotationAppliedHash = "styrmin.io/applied-hash"

// ensure makes an object be as desired and returns it as it is then. Nothing is
// written where it is so already (O8); an object of that name that is not the
// deployment's is a conflictError and stays untouched (O7).
func ensure[T client.Object](ctx context.Context, r *reconciler, s *scope, desired T) (T, error) {
	live, found, err := find(ctx, r, desired)
	if err != nil {
		return desired, err
	}
	return ensureOver(ctx, r, s, desired, live, found)
}

// ensureOver is ensure for an object that was read already.
func ensureOver[T client.Object](ctx context.Context, r *reconciler, s *scope, desired, live T, found bool) (T, error) {
	gvk, err := apiutil.GVKForObject(desired, r.scheme)
	if err != nil {
		return desired, fmt.Errorf("finding the kind of %T: %w", desired, err)
	}
	if found && !s.owns(live) {
		return desired, newConflictError(gvk.Kind, live)
	}
	if found && !live.GetDeletionTimestamp().IsZero() {
		return desired, waitUntilGone(gvk.Kind, live)
	}
	s.mark(desired)
	applied, err := applyConfiguration(desired, gvk)
	if err != nil {
		return desired, err
	}
	if found {
		same, err := isApplied(applied, live)
		if err != nil || same {
			return live, err
		}
		// An object that was replaced in the meantime is a conflict, not ours.
		applied.SetUID(live.GetUID())
	}
	wanted := wantedFields(applied)
	err = r.apply(ctx, applied)
	if found && (apierrors.IsInvalid(err) || (err == nil && !contains(applied.Object, wanted))) {
		err = r.replace(ctx, applied, wanted, live)
	}
	if err != nil {
		return desired, fmt.Errorf("applying %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(desired), err)
	}
	return converted(applied, desired)
}

// replace puts an object right that apply leaves wrong: items that someone else
// added to a list stay in it, and may clash with what is wanted. A merge patch
// replaces whole lists; it is for the version that was compared, so that it
// never takes back what someone else wrote meanwhile (O8). The answer replaces
// obj.
func (r *reconciler) replace(ctx context.Context, obj *unstructured.Unstructured, wanted map[string]any, live client.Object) error {
	patch := (&unstructured.Unstructured{Object: wanted}).DeepCopy()
	patch.SetUID(live.GetUID())
	version := obj.GetResourceVersion() // That of the apply, if it was taken.
	if version == "" {
		version = live.GetResourceVersion()
	}
	patch.SetResourceVersion(version)
	data, err := json.Marshal(patch.Object)
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	countWrite("patch", obj.GetKind())
	return r.client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, data), client.FieldOwner(styrminv1.FieldOwner))
}

// find reads the object of desired's name: from the cache of what the operator
// made and, where that has none, from the API server, since the cache holds no
// foreign object and may not have got one of ours yet.
func find[T client.Object](ctx context.Context, r *reconciler, desired T) (live T, found bool, err error) {
	live = emptyLike(desired)
	key := client.ObjectKeyFromObject(desired)
	for _, reader := range []client.Reader{r.made, r.live} {
		err = reader.Get(ctx, key, live)
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return live, false, nil
	}
	if err != nil {
		return live, false, fmt.Errorf("reading %T %s: %w", desired, key, err)
	}
	return live, true, nil
}

// apply is how the operator writes: server-side apply as its field owner. What
// apply cannot say, replace and removeFinalizer do with a patch of one version of
// the object (O8). The answer replaces obj.
func (r *reconciler) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	countWrite("apply", obj.GetKind())
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj),
		client.FieldOwner(styrminv1.FieldOwner), client.ForceOwnership)
}

// applyConfiguration returns an object as the fields to apply, with their hash.
func applyConfiguration(obj client.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	hash, err := contentHash(u)
	if err != nil {
		return nil, err
	}
	u.SetAnnotations(with(u.GetAnnotations(), annotationAppliedHash, hash))
	return u, nil
}

// contentHash hashes everything that is to be applied but the instance, which
// alone is no reason to write.
func contentHash(u *unstructured.Unstructured) (string, error) {
	c := u.DeepCopy()
	unstructured.RemoveNestedField(c.Object, "metadata", "annotations", styrminv1.AnnotationInstanceID)
	data, err := json.Marshal(c.Object)
	if err != nil {
		return "", fmt.Errorf("hashing %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// isApplied tells whether the live object already is what would be applied:
// the last apply was of the same content, and no one changed a field of it.
func isApplied(applied *unstructured.Unstructured, live client.Object) (bool, error) {
	if live.GetAnnotations()[annotationAppliedHash] != applied.GetAnnotations()[annotationAppliedHash] {
		return false, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, fmt.Errorf("converting %T: %w", live, err)
	}
	return contains(content, wantedFields(applied)), nil
}

// wantedFields are the fields that make an object right: all that is applied but
// what names the object, and the instance, which alone is no reason to write.
func wantedFields(applied *unstructured.Unstructured) map[string]any {
	wanted := applied.DeepCopy()
	for _, field := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "uid"}, {"metadata", "annotations", styrminv1.AnnotationInstanceID}} {
		unstructured.RemoveNestedField(wanted.Object, field...)
	}
	return wanted.Object
}

// contains tells whether every field of part is in whole with the same value.
// whole may have more, as defaults and the fields of others are.
func contains(whole, part any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		if !ok {
			return len(p) == 0 && whole == nil
		}
		for key, value := range p {
			if !contains(w[key], value) {
				return false
			}
		}
		return true
	case []any:
		w, ok := whole.([]any)
		if !ok || len(w) != len(p) {
			return len(p) == 0 && whole == nil
		}
		for i := range p {
			if !contains(w[i], p[i]) {
				return false
			}
		}
		return true
	default:
		if reflect.DeepEqual(whole, part) {
			return true
		}
		w, whole := number(whole)
		n, part := number(part)
		return whole && part && w == n
	}
}

// emptyLike returns a new object of the same kind.
func emptyLike[T client.Object](obj T) T {
	empty := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(T)
	if _, ok := any(obj).(*unstructured.Unstructured); ok {
		empty.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	}
	return empty
}

// converted returns u as an object of like's type.
func converted[T client.Object](u *unstructured.Unstructured, like T) (T, error) {
	if same, ok := any(u).(T); ok {
		return same, nil
	}
	out := emptyLike(like)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return like, fmt.Errorf("converting %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return out, nil
}

// number returns a JSON number's value: the API server may store 1.0 as 1.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	default:
		return 0, false
	}
}
