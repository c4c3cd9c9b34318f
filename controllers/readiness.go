// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch

// readiness is what the pods and workloads of a target namespace say.
type readiness struct {
	components []styrminv1.ComponentStatus
	// waitingFor says what is not as declared; empty: all components are.
	waitingFor string
	// failing says which pod or workload shows a failure; empty: none.
	failing string
	// isError: the failure has lasted longer than the grace, or the waiting
	// longer than a rollout may take (O4).
	isError bool
	// recheckAfter is when time alone changes this.
	recheckAfter time.Duration
}

// progress is how far Flux has come with the rollout that is judged.
type progress struct {
	// attempted: it has begun on this very spec. Before, whatever runs is of an
	// older one, and fails or not for the older one's reasons.
	attempted bool
	// installed: it has ended, so that whatever runs is of this spec.
	installed bool
}

// observeReadiness reads the target namespace's workloads and pods from the
// caches and judges them. A namespace that is not the deployment's has none of
// its pods, whatever runs there.
func (r *reconciler) observeReadiness(ctx context.Context, s *scope, p progress) (readiness, error) {
	ours, err := r.hasNamespace(ctx, s)
	if err != nil {
		return readiness{}, err
	}
	if !ours {
		return judgeReadiness(s, r.opts, nil, nil, p), nil
	}
	workloads, err := r.listWorkloads(ctx, s.namespace)
	if err != nil {
		return readiness{}, err
	}
	pods := &corev1.PodList{}
	if err := r.cached.List(ctx, pods, client.InNamespace(s.namespace), client.UnsafeDisableDeepCopy); err != nil {
		return readiness{}, fmt.Errorf("listing the pods of %s: %w", s.namespace, err)
	}
	if p.installed && isContested(s.deployment, workloads) {
		r.findAutoscalers(ctx, s.namespace, workloads)
	}
	if failsInTwoRevisions(pods.Items, s.now, r.opts.SettleTime) {
		if err := r.findRevisions(ctx, s.namespace, workloads); err != nil {
			return readiness{}, err
		}
	}
	return judgeReadiness(s, r.opts, workloads, pods.Items, p), nil
}

// judgeReadiness decides whether every component is as declared, and whether
// something shows a failure (O4). It is pure. The components are told as they
// are in every phase. A failure counts once it can be of this spec: Flux has
// begun on it, and the failure came after, or outlived the installation. Jobs'
// pods count only until the release is installed, when they are hooks that hold
// it up.
func judgeReadiness(s *scope, opts Options, workloads []workload, pods []corev1.Pod, p progress) readiness {
	out := readiness{}
	before := s.condition(styrminv1.ConditionReady)
	wasFailing := before != nil && before.Reason == styrminv1.ReasonPodsFailing
	wasError := wasFailing && s.status.DisplayState == styrminv1.DisplayStateError

	var failures []podFailure
	failed := ""
	if p.attempted {
		begun := time.Time{}
		if !p.installed {
			begun = s.since(styrminv1.ConditionPrerequisitesReady)
		}
		failures = podFailures(workloads, createdSince(pods, begun), s.now, opts.SettleTime, wasError, !p.installed)
		if !wasFailing {
			failures = visibleOnly(failures)
		}
		failed = failedWorkload(workloads, begun)
	}
	shown := podFailures(workloads, pods, s.now, opts.SettleTime, wasError || !p.installed, !p.installed)
	out.judgeComponents(s, opts, workloads, pods, shown)
	switch {
	case failed != "":
		out.failing, out.isError = failed, true
	case len(failures) > 0:
		out.failing = describeFailures(failures, messageOf(before, ""))
		out.judgeGrace(s, opts, before, wasFailing, wasError, failures)
	case out.waitingFor != "" && p.installed:
		out.judgeWaiting(s, opts, before)
	}
	return out
}

// createdSince returns the pods that were made at a time or after it; with zero
// time all of them. Both times have whole seconds.
func createdSince(pods []corev1.Pod, since time.Time) []corev1.Pod {
	if since.IsZero() {
		return pods
	}
	var out []corev1.Pod
	for i := range pods {
		if !pods[i].CreationTimestamp.Time.Before(since) {
			out = append(out, pods[i])
		}
	}
	return out
}

// judgeGrace turns a failure into an error when it shows and has been there for
// longer than the grace. An error stays one while the failure does.
func (out *readiness) judgeGrace(s *scope, opts Options, before *metav1.Condition, wasFailing, wasError bool, failures []podFailure) {
	left := opts.PodGrace
	if wasFailing {
		left -= atLeast(before.LastTransitionTime.Time, s.now)
	}
	out.isError = wasError || (left <= 0 && len(visibleOnly(failures)) > 0)
	if !out.isError {
		out.recheckAfter = soonest(out.recheckAfter, max(left, time.Second))
		return
	}
	// A container that has restarted becomes calm without any event.
	if len(visibleOnly(failures)) == 0 {
		out.recheckAfter = soonest(out.recheckAfter, opts.SettleTime)
	}
}

// judgeWaiting turns waiting for the components into an error when it has taken
// longer than a rollout may: not each workload has a deadline of its own.
func (out *readiness) judgeWaiting(s *scope, opts Options, before *metav1.Condition) {
	since := s.since(styrminv1.ConditionServicesReady)
	if before != nil && before.LastTransitionTime.After(since) {
		since = before.LastTransitionTime.Time
	}
	if since.IsZero() {
		return
	}
	limit := s.helmTimeout() + opts.ProgressGrace
	left := limit - atLeast(since, s.now)
	if left > 0 {
		out.recheckAfter = soonest(out.recheckAfter, left)
		return
	}
	out.isError = true
}

func visibleOnly(failures []podFailure) []podFailure {
	var visible []podFailure
	for _, f := range failures {
		if f.visible {
			visible = append(visible, f)
		}
	}
	return visible
}
