// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// maxMessage is the longest message in a status, in bytes: what a report
// carries, and short enough that an object never outgrows etcd.
const maxMessage = 1024

// conditionTypes are all conditions of a StyrminDeployment; every status has
// them all.
var conditionTypes = []string{
	styrminv1.ConditionPrerequisitesReady,
	styrminv1.ConditionHelmReleaseReady,
	styrminv1.ConditionServicesReady,
	styrminv1.ConditionReady,
}

// observation is all that one reconcile found out. A nil phase was not looked
// at, since one before it is not done.
type observation struct {
	prerequisites, release, services *outcome
	readiness                        readiness
}

// phases returns the outcomes in the order of the phases (O2).
func (o *observation) phases() []struct {
	phase     styrminv1.Phase
	condition string
	outcome   *outcome
} {
	return []struct {
		phase     styrminv1.Phase
		condition string
		outcome   *outcome
	}{
		{styrminv1.PhaseCreatingPrerequisites, styrminv1.ConditionPrerequisitesReady, o.prerequisites},
		{styrminv1.PhaseCreatingHelmRelease, styrminv1.ConditionHelmReleaseReady, o.release},
		{styrminv1.PhaseCreatingServices, styrminv1.ConditionServicesReady, o.services},
	}
}

// startsRollout tells whether the spec is one that the operator has not begun
// to work on: a new instance or a new generation (O1).
func startsRollout(d *styrminv1.StyrminDeployment) bool {
	return d.Status.InstanceID != d.InstanceID() || d.Status.ObservedGeneration != d.Generation
}

// startStatus is the first write for a new spec (O1). It leaves no condition
// True, so that every rollout has transitions of its own.
func startStatus(s *scope) styrminv1.StyrminDeploymentStatus {
	status := *s.status.DeepCopy()
	status.InstanceID = s.deployment.InstanceID()
	status.ObservedGeneration = s.deployment.Generation
	status.Phase = styrminv1.PhaseCreatingPrerequisites
	status.DisplayState = styrminv1.DisplayStateDeploying
	status.Message = "starting the rollout"
	for _, t := range conditionTypes {
		// Unknown, whatever it was: False would keep an older rollout's time.
		apimeta.RemoveStatusCondition(&status.Conditions, t)
		setCondition(&status, s.now, t, outcome{
			status: metav1.ConditionUnknown, reason: styrminv1.ReasonPending, message: "starting the rollout",
		})
	}
	return status
}

// nextStatus decides the status from what it was and what was observed. It is
// pure: the same input gives the same status, and a status that says all there
// is to say comes out as it went in.
func nextStatus(s *scope, opts Options, o observation) (styrminv1.StyrminDeploymentStatus, time.Duration) {
	status := *s.status.DeepCopy()
	status.InstanceID = s.deployment.InstanceID()
	status.ObservedGeneration = s.deployment.Generation
	status.Components = o.readiness.components

	var current *outcome
	recheck := o.readiness.recheckAfter
	phase := styrminv1.PhaseReady
	for _, p := range o.phases() {
		if p.outcome == nil {
			break
		}
		recheck = soonest(recheck, p.outcome.recheckAfter)
		setCondition(&status, s.now, p.condition, *p.outcome)
		if !p.outcome.done() {
			phase, current = p.phase, p.outcome
			break
		}
	}
	ready := readyOutcome(s, opts, current, o.readiness)
	setCondition(&status, s.now, styrminv1.ConditionReady, ready)
	status.Phase = decidePhase(s.status.Phase, phase, current, ready)
	status.DisplayState = displayState(s, opts, status, o.readiness)
	status.Message = ready.message
	if status.DisplayState == styrminv1.DisplayStateDeploying && ready.done() {
		recheck = soonest(recheck, opts.settleLeft(&status, s.now))
	}
	return status, recheck
}

// readyOutcome is the Ready condition: the failed phase, a failing pod, the
// phase that is under way, or the components.
func readyOutcome(s *scope, opts Options, current *outcome, r readiness) outcome {
	switch {
	case current != nil && current.failed:
		return *current
	case r.failing != "":
		return outcome{status: metav1.ConditionFalse, reason: styrminv1.ReasonPodsFailing, message: r.failing}
	case current != nil:
		return outcome{status: metav1.ConditionUnknown, reason: styrminv1.ReasonProgressing, message: current.message}
	case r.waitingFor != "":
		return progressing("waiting for %s", r.waitingFor)
	}
	ready := done("everything is as declared")
	before := s.condition(styrminv1.ConditionReady)
	if before == nil || before.Status != metav1.ConditionTrue || opts.settleLeft(&s.status, s.now) > 0 {
		ready.reason = styrminv1.ReasonSettling
		ready.message = fmt.Sprintf("everything is as declared; Running once it has been for %s", opts.SettleTime)
	}
	return ready
}

// decidePhase: Ready is kept while a release that is in place merely lacks
// healthy pods; before it was reached, the wait for them is CreatingServices.
func decidePhase(before, phase styrminv1.Phase, current *outcome, ready outcome) styrminv1.Phase {
	switch {
	case current != nil && current.failed:
		return styrminv1.PhaseFailed
	case current == nil && !ready.done() && before != styrminv1.PhaseReady:
		return styrminv1.PhaseCreatingServices
	default:
		return phase
	}
}

// displayState is the one word for people (O4).
func displayState(s *scope, opts Options, status styrminv1.StyrminDeploymentStatus, r readiness) styrminv1.DisplayState {
	ready := apimeta.FindStatusCondition(status.Conditions, styrminv1.ConditionReady)
	switch {
	case status.Phase == styrminv1.PhaseFailed, r.isError:
		return styrminv1.DisplayStateError
	case ready.Status == metav1.ConditionTrue && opts.settleLeft(&status, s.now) <= 0:
		return styrminv1.DisplayStateRunning
	case r.failing != "" && r.waitingFor == "" && s.status.DisplayState == styrminv1.DisplayStateRunning:
		// All components are as declared still; another pod is within its grace.
		return styrminv1.DisplayStateRunning
	default:
		return styrminv1.DisplayStateDeploying
	}
}

// settleLeft is how much longer the deployment must stay as declared before it
// is displayed as Running.
func (o Options) settleLeft(status *styrminv1.StyrminDeploymentStatus, now time.Time) time.Duration {
	ready := apimeta.FindStatusCondition(status.Conditions, styrminv1.ConditionReady)
	return o.SettleTime - atLeast(ready.LastTransitionTime.Time, now)
}

// setCondition sets a condition; its transition time moves only when its status
// changes.
func setCondition(status *styrminv1.StyrminDeploymentStatus, now time.Time, conditionType string, o outcome) {
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type:               conditionType,
		Status:             o.status,
		ObservedGeneration: status.ObservedGeneration,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		Reason:             o.reason,
		Message:            cut(o.message),
	})
}

// cut makes a message fit, valid and free of NUL.
func cut(message string) string {
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "\uFFFD"), "\x00", "")
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage - len("…")
	for !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + "…"
}

// writeStatus applies the whole status under the object's resource version, or
// nothing where nothing changed (O8). A conflict means that the object was read
// from a stale cache or has changed: the caller starts over.
func (r *reconciler) writeStatus(ctx context.Context, s *scope, status styrminv1.StyrminDeploymentStatus) error {
	status.Message = cut(status.Message)
	if equality.Semantic.DeepEqual(s.status, status) {
		return nil
	}
	written, err := r.applyStatus(ctx, s, status, nil)
	if err == nil && written.InstanceID != status.InstanceID {
		err = &outdatedCRDError{missing: []string{"instanceId"}} // The API server dropped it.
	}
	return err
}

// applyStatus applies a status without some of its fields, and returns it as the
// API server has it then.
func (r *reconciler) applyStatus(ctx context.Context, s *scope, status styrminv1.StyrminDeploymentStatus, without []string) (
	styrminv1.StyrminDeploymentStatus, error,
) {
	written := styrminv1.StyrminDeploymentStatus{}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return written, fmt.Errorf("converting the status: %w", err)
	}
	for _, field := range without {
		delete(content, field)
	}
	u := s.applyObject()
	u.Object["status"] = content
	countWrite("status", styrminv1.Kind)
	err = r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(styrminv1.FieldOwner), client.ForceOwnership)
	if err != nil {
		return written, fmt.Errorf("writing the status: %w", r.explainWrite(ctx, err))
	}
	stored, _, _ := unstructured.NestedMap(u.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &written); err != nil {
		return written, fmt.Errorf("reading the status that was written: %w", err)
	}
	before := s.status
	s.status, s.resourceVersion = status, u.GetResourceVersion()
	r.announce(ctx, s, before)
	return written, nil
}

// applyObject is the scope's StyrminDeployment as the start of something to
// apply: this very object in this very version.
func (s *scope) applyObject() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(styrminv1.GroupVersion.WithKind(styrminv1.Kind))
	u.SetNamespace(s.deployment.Namespace)
	u.SetName(s.deployment.Name)
	u.SetUID(s.deployment.UID)
	u.SetResourceVersion(s.resourceVersion)
	return u
}
