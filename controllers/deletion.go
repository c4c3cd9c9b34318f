// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// removal is what one step of a deletion found: everything gone, or what it
// waits for.
type removal struct {
	gone bool
	// waitingFor is the message while it is not gone.
	waitingFor string
	// since is when the removal of what is waited for was asked for.
	since time.Time
}

var removed = removal{gone: true}

// reconcileDeletion removes what was made for the deployment, each step after
// the one before (O6). What there is to do is read from the API server each
// time, never remembered: a restart goes on where the last one stopped, and a
// cache that lags does not let a namespace go before its release.
func (r *reconciler) reconcileDeletion(ctx context.Context, s *scope) (time.Duration, error) {
	if !controllerutil.ContainsFinalizer(s.deployment, styrminv1.Finalizer) {
		return 0, nil
	}
	if s.status.Phase == styrminv1.PhaseDeleted {
		return r.reconcileDeleted(ctx, s)
	}
	if s.status.Phase != styrminv1.PhaseDeleting {
		if err := r.writeStatus(ctx, s, deletingStatus(s)); err != nil {
			return 0, err
		}
	}
	if err := r.optional.watchServed(); err != nil {
		return 0, err
	}
	progress := map[string]bool{}
	for _, step := range []struct {
		condition string
		run       func(context.Context, *scope) (removal, error)
	}{
		{styrminv1.ConditionHelmReleaseReady, r.removeHelmRelease},
		{styrminv1.ConditionServicesReady, r.removeServices},
		{styrminv1.ConditionPrerequisitesReady, r.removePrerequisites},
	} {
		found, err := step.run(ctx, s)
		if apierrors.IsConflict(err) {
			return 0, err
		}
		if err != nil {
			found = removal{waitingFor: err.Error(), since: r.removals.since(s)}
			if s.status.DisplayState == styrminv1.DisplayStateError && !isOverdue(s, r.opts, found) {
				return 0, err // What blocks it for long is no less true now.
			}
		} else if !found.gone {
			r.removals.forget(client.ObjectKeyFromObject(s.deployment))
		}
		if !found.gone {
			return r.opts.RecheckInterval, errors.Join(err, r.writeStatus(ctx, s, waitingStatus(s, r.opts, progress, found)))
		}
		progress[step.condition] = true
	}
	if err := r.writeStatus(ctx, s, deletedStatus(s)); err != nil {
		return 0, err
	}
	return r.opts.DeletedVisibleFor + time.Second, nil
}

// reconcileDeleted lets the phase Deleted be seen for a reporting interval, then
// removes the finalizer.
func (r *reconciler) reconcileDeleted(ctx context.Context, s *scope) (time.Duration, error) {
	left := r.opts.DeletedVisibleFor - atLeast(s.since(styrminv1.ConditionPrerequisitesReady), s.now)
	if left > 0 {
		return left, nil
	}
	return 0, r.removeFinalizer(ctx, s)
}

// removeFinalizer lets the object go. Applying it without the finalizer gives up
// what the operator owns of it; where someone else's apply owns it too, that
// does not remove it, and it is taken out of the list.
func (r *reconciler) removeFinalizer(ctx context.Context, s *scope) error {
	u := s.applyObject()
	err := r.apply(ctx, u)
	if err == nil && controllerutil.ContainsFinalizer(u, styrminv1.Finalizer) {
		patch := client.MergeFromWithOptions(u.DeepCopy(), client.MergeFromWithOptimisticLock{})
		controllerutil.RemoveFinalizer(u, styrminv1.Finalizer)
		countWrite("patch", styrminv1.Kind)
		err = r.client.Patch(ctx, u, patch, client.FieldOwner(styrminv1.FieldOwner))
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}

// deletingStatus is the first write of a deletion. The instance stays the one
// that was worked on last: a deletion starts none.
func deletingStatus(s *scope) styrminv1.StyrminDeploymentStatus {
	status := *s.status.DeepCopy()
	status.ObservedGeneration = s.deployment.Generation
	status.Phase = styrminv1.PhaseDeleting
	status.DisplayState = styrminv1.DisplayStateDeleting
	status.Message = "the deletion has begun"
	status.Components = nil // They are no longer looked at.
	for _, t := range conditionTypes {
		o := outcome{status: metav1.ConditionUnknown, reason: styrminv1.ReasonDeleting, message: "waiting for its removal"}
		if t == styrminv1.ConditionReady {
			o = outcome{status: metav1.ConditionFalse, reason: styrminv1.ReasonDeleting, message: status.Message}
		}
		setCondition(&status, s.now, t, o)
	}
	return status
}

// isOverdue tells whether something has kept the deletion for longer than a release
// may take.
func isOverdue(s *scope, opts Options, found removal) bool {
	return !found.since.IsZero() && atLeast(found.since, s.now) > s.helmTimeout()+opts.ProgressGrace
}

// waitingStatus says what the deletion waits for. Past the time that a release
// may take it is displayed as an error, and goes on all the same.
func waitingStatus(s *scope, opts Options, progress map[string]bool, found removal) styrminv1.StyrminDeploymentStatus {
	status := *s.status.DeepCopy()
	status.ObservedGeneration = s.deployment.Generation
	status.DisplayState = styrminv1.DisplayStateDeleting
	status.Message = found.waitingFor
	reason := styrminv1.ReasonDeleting
	if isOverdue(s, opts, found) {
		status.DisplayState = styrminv1.DisplayStateError
		reason = styrminv1.ReasonDeletionBlocked
	}
	markRemoved(s, &status, progress)
	setCondition(&status, s.now, styrminv1.ConditionReady,
		outcome{status: metav1.ConditionFalse, reason: reason, message: found.waitingFor})
	return status
}

// deletedStatus says that nothing but the object itself is left.
func deletedStatus(s *scope) styrminv1.StyrminDeploymentStatus {
	status := *s.status.DeepCopy()
	status.Phase = styrminv1.PhaseDeleted
	status.DisplayState = styrminv1.DisplayStateDeleted
	status.Message = "nothing of the deployment is left"
	status.Components = nil
	progress := map[string]bool{}
	for _, t := range conditionTypes {
		progress[t] = true
	}
	markRemoved(s, &status, progress)
	return status
}

// markRemoved turns the conditions of what is gone to False, at the time it was
// found gone.
func markRemoved(s *scope, status *styrminv1.StyrminDeploymentStatus, gone map[string]bool) {
	for t := range gone {
		setCondition(status, s.now, t, outcome{
			status: metav1.ConditionFalse, reason: styrminv1.ReasonDeleted, message: "removed",
		})
	}
}

// removeHelmRelease has Flux uninstall the release, and waits until its object
// is gone.
func (r *reconciler) removeHelmRelease(ctx context.Context, s *scope) (removal, error) {
	release := &helmv2.HelmRelease{}
	key := client.ObjectKey{Namespace: s.namespace, Name: s.deployment.Spec.HelmRelease.ReleaseName}
	err := r.live.Get(ctx, key, release)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) || (err == nil && !s.owns(release)) {
		return removed, nil
	}
	if err != nil {
		return removal{}, fmt.Errorf("reading HelmRelease %s: %w", key, err)
	}
	if release.DeletionTimestamp.IsZero() {
		if err := r.resume(ctx, release); err != nil {
			return removal{}, err
		}
		if err := r.delete(ctx, release); err != nil {
			return removal{}, err
		}
		return removal{waitingFor: fmt.Sprintf("waiting until Flux has uninstalled the HelmRelease %s", key)}, nil
	}
	found := removal{
		waitingFor: fmt.Sprintf("waiting until Flux has uninstalled the HelmRelease %s", key),
		since:      release.DeletionTimestamp.Time,
	}
	if v := judgeHelmRelease(release); v.state == releaseDeletionFailed {
		found.waitingFor += ": " + v.message
	}
	return found, nil
}

// resume ends a suspension: Flux drops a suspended HelmRelease without
// uninstalling anything. The spec is applied as it is, so that nothing else
// happens to the release on its way out.
func (r *reconciler) resume(ctx context.Context, release *helmv2.HelmRelease) error {
	if !release.Spec.Suspend {
		return nil
	}
	kind := helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind)
	resumed := release.DeepCopy()
	resumed.ManagedFields = nil
	u, err := applyConfiguration(resumed, kind)
	if err != nil {
		return err
	}
	spec, _ := u.Object["spec"].(map[string]any)
	spec["suspend"] = false
	u.SetFinalizers(nil) // Flux's own.
	unstructured.RemoveNestedField(u.Object, "metadata", "generation")
	if err := r.apply(ctx, u); err != nil {
		return fmt.Errorf("resuming HelmRelease %s: %w", client.ObjectKeyFromObject(release), err)
	}
	return nil
}

// removeServices removes what makes the deployment reachable, and the chart
// source, which no release needs any more.
func (r *reconciler) removeServices(ctx context.Context, s *scope) (removal, error) {
	lists := make([]client.ObjectList, 0, 2+2*len(traefikGroups))
	lists = append(lists, &corev1.ServiceList{}, &sourcev1.HelmRepositoryList{})
	for _, version := range traefikGroups {
		lists = append(lists,
			unstructuredList(version.WithKind(ingressRouteKind)), unstructuredList(version.WithKind(middlewareKind)))
	}
	return r.removeAll(ctx, s, lists)
}

// removePrerequisites removes secrets and network policies, then the namespace.
func (r *reconciler) removePrerequisites(ctx context.Context, s *scope) (removal, error) {
	found, err := r.removeAll(ctx, s, []client.ObjectList{secretMetadataList(), &networkingv1.NetworkPolicyList{}})
	if err != nil || !found.gone {
		return found, err
	}
	for i := range s.deployment.Spec.Secrets {
		r.secrets.forget(client.ObjectKey{Namespace: s.namespace, Name: s.deployment.Spec.Secrets[i].Name})
	}
	return r.removeNamespace(ctx, s)
}

// removeNamespace removes the namespace, and with it what uninstalling leaves
// behind: Jobs of hooks, the release's secrets, objects that were held. What
// holds the namespace itself up is the API server's to say.
func (r *reconciler) removeNamespace(ctx context.Context, s *scope) (removal, error) {
	namespace := &corev1.Namespace{}
	err := r.live.Get(ctx, client.ObjectKey{Name: s.namespace}, namespace)
	if apierrors.IsNotFound(err) || (err == nil && !s.owns(namespace)) {
		return removed, nil
	}
	if err != nil {
		return removal{}, fmt.Errorf("reading Namespace %s: %w", s.namespace, err)
	}
	found := removal{waitingFor: fmt.Sprintf("waiting until the namespace %s is gone%s", s.namespace, namespaceBlocker(namespace))}
	if !namespace.DeletionTimestamp.IsZero() {
		found.since = namespace.DeletionTimestamp.Time
		return found, nil
	}
	return found, r.delete(ctx, namespace)
}

// removeAll deletes all objects of the kinds that were made for the deployment,
// and tells which of them are still there after that.
func (r *reconciler) removeAll(ctx context.Context, s *scope, lists []client.ObjectList) (removal, error) {
	var left []client.Object
	for _, list := range lists {
		remaining, err := r.deleteMade(ctx, s, list)
		if err != nil {
			return removal{}, err
		}
		left = append(left, remaining...)
	}
	return remainingOf(s, r.scheme, left), nil
}

// remainingOf is what a step of the deletion found that left objects behind: some
// that something holds, or that were made while it looked.
func remainingOf(s *scope, scheme *runtime.Scheme, left []client.Object) removal {
	if len(left) == 0 {
		return removed
	}
	names := make([]string, len(left))
	var since time.Time
	for i, obj := range left {
		names[i] = kindOf(obj, scheme) + " " + obj.GetName()
		if deleted := obj.GetDeletionTimestamp(); deleted != nil {
			since = earlier(since, deleted.Time)
		}
	}
	return removal{waitingFor: fmt.Sprintf("waiting until these are gone from %s: %s", s.namespace, strings.Join(names, ", ")), since: since}
}

// deleteMade deletes the objects of one kind and returns those that something
// still holds.
func (r *reconciler) deleteMade(ctx context.Context, s *scope, list client.ObjectList) ([]client.Object, error) {
	made, err := r.listLive(ctx, s, list)
	if err != nil || len(made) == 0 {
		return nil, err
	}
	for _, obj := range made {
		if !obj.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := r.delete(ctx, obj); err != nil {
			return nil, err
		}
	}
	return r.listLive(ctx, s, list)
}

// listLive lists what was made, from the API server. Of a kind whose API is not
// served there is none.
func (r *reconciler) listLive(ctx context.Context, s *scope, list client.ObjectList) ([]client.Object, error) {
	made, err := listMade(ctx, r.live, s, list)
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return made, err
}

// earlier returns the earlier of two times, where zero is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
