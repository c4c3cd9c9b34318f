// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmrepositories,verbs=get;list;watch;create;patch;delete

const flux = "Flux (source-controller and helm-controller)"

// reconcilePrerequisites makes the namespace and what the release needs in it:
// network policies, secrets, the chart source.
func (r *reconciler) reconcilePrerequisites(ctx context.Context, s *scope) (outcome, error) {
	if err := checkSelectors(s.deployment); err != nil {
		return outcome{}, err
	}
	// Without Flux nothing can come of the rest: say so before making it.
	for _, kind := range []string{sourcev1.HelmRepositoryKind, helmv2.HelmReleaseKind} {
		if err := r.optional.require(fluxKinds[kind], flux); err != nil {
			return outcome{}, err
		}
	}
	if out, err := r.ensureNamespace(ctx, s); err != nil || !out.done() {
		return out, err
	}
	if err := r.ensureNetworkPolicy(ctx, s); err != nil {
		return outcome{}, err
	}
	if err := r.ensureSecrets(ctx, s); err != nil {
		return outcome{}, err
	}
	if _, err := ensure(ctx, r, s, desiredChartSource(s, r.opts)); err != nil {
		return outcome{}, err
	}
	return done("namespace, network policies, secrets and chart source are there"), nil
}

// ensureNamespace makes the target namespace. One that is being deleted is
// waited for, whoever made it: nothing can be made in it.
func (r *reconciler) ensureNamespace(ctx context.Context, s *scope) (outcome, error) {
	desired := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	live, found, err := find(ctx, r, desired)
	if err != nil {
		return outcome{}, err
	}
	if found && !live.DeletionTimestamp.IsZero() {
		waiting := progressing("waiting until the namespace %s is gone, which is being deleted%s", s.namespace, namespaceBlocker(live))
		return waiting.after(r.opts.RecheckInterval), nil
	}
	if _, err := ensureOver(ctx, r, s, desired, live, found); err != nil {
		return outcome{}, err
	}
	return done(""), nil
}

// hasNamespace tells whether the target namespace is there and the deployment's,
// from the cache.
func (r *reconciler) hasNamespace(ctx context.Context, s *scope) (bool, error) {
	namespace := &corev1.Namespace{}
	err := r.made.Get(ctx, client.ObjectKey{Name: s.namespace}, namespace)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading Namespace %s: %w", s.namespace, err)
	}
	return s.owns(namespace), nil
}

// ensureNetworkPolicy makes the namespace's policy, or removes it.
func (r *reconciler) ensureNetworkPolicy(ctx context.Context, s *scope) error {
	desired := desiredNetworkPolicy(s)
	if s.deployment.Spec.NetworkPolicy.Isolation != styrminv1.IsolationNone {
		_, err := ensure(ctx, r, s, desired)
		return err
	}
	return r.prune(ctx, s, &networkingv1.NetworkPolicyList{}, nil)
}

// desiredChartSource is the repository that Flux takes the chart from. It lives
// beside the HelmRelease and has its name.
func desiredChartSource(s *scope, opts Options) *sourcev1.HelmRepository {
	chart := s.deployment.Spec.HelmRelease.Chart
	repository := &sourcev1.HelmRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.deployment.Spec.HelmRelease.ReleaseName},
		Spec: sourcev1.HelmRepositorySpec{
			URL:      chart.Repository,
			Interval: metav1.Duration{Duration: opts.HelmInterval},
		},
	}
	if strings.HasPrefix(chart.Repository, "oci://") {
		repository.Spec.Type = sourcev1.HelmRepositoryTypeOCI
	}
	return repository
}

// namespaceBlocker tells what a namespace's deletion waits for, as the API
// server reports it; empty when nothing is reported.
func namespaceBlocker(ns *corev1.Namespace) string {
	var blockers []string
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			blockers = append(blockers, c.Message)
		}
	}
	if len(blockers) == 0 {
		return ""
	}
	return ": " + strings.Join(blockers, "; ")
}

// prune deletes objects of the list's kind that were made for the deployment
// and are not wanted any more.
func (r *reconciler) prune(ctx context.Context, s *scope, list client.ObjectList, wanted map[string]bool) error {
	made, err := listMade(ctx, r.made, s, list)
	if err != nil {
		return err
	}
	for _, obj := range made {
		if wanted[obj.GetName()] || !obj.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := r.delete(ctx, obj); err != nil {
			return fmt.Errorf("removing what the spec no longer has: %w", err)
		}
	}
	return nil
}
