// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// The operator's own metrics, beside those that controller-runtime has (O10).
var (
	deploymentState = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "styrmin_operator_deployment_state",
		Help: "1 for the phase and display state that a StyrminDeployment has.",
	}, []string{"namespace", "name", "phase", "display_state"})

	phaseChanges = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "styrmin_operator_phase_changes_total",
		Help: "Changes of StyrminDeployments' phases, by the phase that was entered.",
	}, []string{"phase"})

	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "styrmin_operator_failures_total",
		Help: "Times that a StyrminDeployment became Failed or was displayed as Error, by reason.",
	}, []string{"reason"})

	rolloutDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "styrmin_operator_rollout_duration_seconds",
		Help:    "Time from the end of the prerequisites of a rollout to its being ready.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 12),
	})

	startProblems = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "styrmin_operator_start_problems",
		Help: "Permissions and status fields that the operator lacks; the log and the readiness probe name them.",
	})

	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "styrmin_operator_writes_total",
		Help: "Writes to the API server, by verb and kind. Settled deployments cost none.",
	}, []string{"verb", "kind"})
)

func init() {
	metrics.Registry.MustRegister(deploymentState, phaseChanges, failures, rolloutDuration, startProblems, writes)
}

func countWrite(verb, kind string) { writes.WithLabelValues(verb, kind).Inc() }

// announce tells of a status that was written: events and log lines for people,
// metrics for their monitoring (O10).
func (r *reconciler) announce(ctx context.Context, s *scope, before styrminv1.StyrminDeploymentStatus) {
	now := &s.status
	if before.Phase == now.Phase && before.DisplayState == now.DisplayState {
		return
	}
	log.FromContext(ctx).Info("Changed state", "instance", now.InstanceID, "phase", now.Phase,
		"displayState", now.DisplayState, "message", now.Message)
	key := client.ObjectKeyFromObject(s.deployment)
	forgetDeployment(key)
	showOnce(key, now)
	if before.Phase != now.Phase {
		phaseChanges.WithLabelValues(string(now.Phase)).Inc()
		if now.Phase == styrminv1.PhaseReady {
			rolloutDuration.Observe(s.now.Sub(s.since(styrminv1.ConditionPrerequisitesReady)).Seconds())
		}
	}
	if now.DisplayState == styrminv1.DisplayStateError {
		reason := s.readyReason()
		failures.WithLabelValues(reason).Inc()
		r.recorder.Eventf(s.deployment, nil, corev1.EventTypeWarning, reason, string(now.Phase), "%s", now.Message)
		return
	}
	reason := string(now.Phase)
	if before.Phase == now.Phase {
		reason = string(now.DisplayState)
	}
	r.recorder.Eventf(s.deployment, nil, corev1.EventTypeNormal, reason, string(now.Phase), "%s", now.Message)
}

// readyReason is the reason of the Ready condition, which says why it is not.
func (s *scope) readyReason() string {
	if c := s.condition(styrminv1.ConditionReady); c != nil {
		return c.Reason
	}
	return styrminv1.ReasonProgressing
}

// shownStates are the StyrminDeployments that have a series.
var shownStates sync.Map

// showOnce gives a StyrminDeployment its series unless it has one: after a restart
// nothing is announced of those that stay as they are.
func showOnce(key client.ObjectKey, status *styrminv1.StyrminDeploymentStatus) {
	if status.Phase == "" {
		return
	}
	if _, shown := shownStates.LoadOrStore(key, true); !shown {
		deploymentState.WithLabelValues(key.Namespace, key.Name, string(status.Phase), string(status.DisplayState)).Set(1)
	}
}

// forgetDeployment drops the series of a StyrminDeployment.
func forgetDeployment(key client.ObjectKey) {
	shownStates.Delete(key)
	deploymentState.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}

// kindOf returns an object's kind for messages and metrics.
func kindOf(obj client.Object, scheme *runtime.Scheme) string {
	gvk, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		return apimeta.AsPartialObjectMetadata(obj).Kind
	}
	return gvk.Kind
}
