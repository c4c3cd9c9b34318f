// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// outcome is how a reconciliation ended.
type outcome struct {
	// again is when to look again; zero never, except for changes.
	again time.Duration
	// settled says that nothing is left to do for this generation, which observedGeneration then tells.
	settled bool
}

// release does step after step until the release is what the spec asks for, or no further step is allowed. Each step is
// announced in the status before it is taken, and its outcome written after it.
func (r *Reconciler) release(ctx context.Context, h *helm, p *statusPatcher, want desired) (outcome, error) {
	hr := h.hr
	var taken []stepKind
	for {
		state, drifts, err := r.observe(ctx, h, want)
		if err != nil {
			markReady(hr, metav1.ConditionFalse, reasonStateError, fmt.Sprintf("Could not determine release state: %s", err))
			return outcome{}, err
		}
		next, err := nextStep(hr, state, helmv2.ShouldHandleForceRequest(hr))
		switch {
		case errors.Is(err, errRetriesExceeded):
			return stalledForRetries(hr), nil
		case errors.Is(err, errNoRollbackTarget):
			markStalled(hr, "MissingRollbackTarget", "Failed to perform remediation: %s", err)
			return outcome{settled: true}, nil
		case err != nil:
			return outcome{}, err
		}
		tidyHistory(hr, state, next)
		if next == stepNone {
			finish(hr)
			return outcome{again: hr.GetRequeueAfter(), settled: true}, nil
		}
		if slices.Contains(taken, next.kind()) {
			return r.leaveForLater(hr), nil
		}
		announce(hr, next)
		if err := p.patch(ctx, hr); err != nil {
			return outcome{}, err
		}
		log.FromContext(ctx).Info("Running a Helm action", "action", next, "state", state)
		if next == stepCorrect {
			err = r.correctDrift(ctx, hr, drifts)
		} else {
			err = h.run(ctx, next, want)
		}
		if err != nil {
			if apimeta.IsStatusConditionTrue(hr.Status.Conditions, fluxmeta.ReadyCondition) {
				markReady(hr, metav1.ConditionFalse, reasonReconcileError, err.Error())
			}
			return outcome{}, err
		}
		if next.kind() == kindRemediate {
			return r.afterRemediation(hr), nil
		}
		taken = append(taken, next.kind())
		if err := p.patch(ctx, hr); err != nil {
			return outcome{}, err
		}
	}
}

// observe finds out in which state the release is, and which of its objects have drifted.
func (r *Reconciler) observe(ctx context.Context, h *helm, want desired) (releaseState, []drift, error) {
	last, err := h.last()
	if err != nil {
		return "", nil, err
	}
	state, err := stateOf(last, h.hr.Status.History.Latest(), want)
	if err != nil || state != stateInSync {
		return state, nil, err
	}
	drifts, err := r.detectDrift(ctx, h, last)
	if err != nil {
		return "", nil, err
	}
	if len(drifts) > 0 {
		return stateDrifted, drifts, nil
	}
	return stateInSync, nil, nil
}

// announce says which step runs. A release step makes readiness unknown; other steps keep telling what went wrong before.
func announce(hr *helmv2.HelmRelease, next step) {
	message := fmt.Sprintf("Running '%s' action with timeout of %s", next, timeoutOf(hr, next))
	markReconciling(hr, fluxmeta.ProgressingReason, message)
	if next.kind() == kindRelease {
		markReady(hr, metav1.ConditionUnknown, fluxmeta.ProgressingReason, message)
	}
}

func timeoutOf(hr *helmv2.HelmRelease, next step) time.Duration {
	timeout := hr.GetTimeout()
	switch next {
	case stepInstall:
		timeout = hr.GetInstall().GetTimeout(timeout)
	case stepUpgrade:
		timeout = hr.GetUpgrade().GetTimeout(timeout)
	case stepRollback:
		timeout = hr.GetRollback().GetTimeout(timeout)
	case stepUninstall:
		timeout = hr.GetUninstall().GetTimeout(timeout)
	}
	return timeout.Duration
}

// tidyHistory forgets what the state makes useless: all of it for a release of someone else, what is older than the
// release to go back to once this one is in sync or is to be remediated.
func tidyHistory(hr *helmv2.HelmRelease, state releaseState, next step) {
	switch {
	case state == stateUnmanaged:
		hr.Status.ClearHistory()
	case state == stateInSync, next != stepNone && next.kind() == kindRemediate:
		hr.Status.History.Truncate(true)
	}
}

// finish ends a reconciliation whose release is what the spec asks for. A rollback may have led there: then the release
// is no longer one that was remediated, but one that is as it should be.
func finish(hr *helmv2.HelmRelease) {
	deleteCondition(hr, fluxmeta.ReconcilingCondition)
	if apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.RemediatedCondition) {
		latest := hr.Status.History.Latest()
		deleteCondition(hr, helmv2.RemediatedCondition)
		setCondition(hr, helmv2.ReleasedCondition, metav1.ConditionTrue, helmv2.UpgradeSucceededReason,
			fmt.Sprintf("Helm upgrade succeeded for release %s with chart %s", latest.FullReleaseName(), latest.VersionedChartName()))
	}
	summarize(hr)
}

// leaveForLater ends a reconciliation that would have to take a step of the same kind once more.
func (r *Reconciler) leaveForLater(hr *helmv2.HelmRelease) outcome {
	if retry := hr.GetActiveRetry(false); retry != nil {
		markRetrying(hr)
		return outcome{again: retry.GetRetryInterval(), settled: true}
	}
	if remediation := hr.GetActiveRemediation(); remediation == nil || !remediation.RetriesExhausted(hr) {
		markRetrying(hr)
		return outcome{again: firstRetryDelay}
	}
	deleteCondition(hr, fluxmeta.ReconcilingCondition)
	return outcome{settled: true}
}

func (r *Reconciler) afterRemediation(hr *helmv2.HelmRelease) outcome {
	if remediation := hr.GetActiveRemediation(); remediation != nil && remediation.RetriesExhausted(hr) {
		return stalledForRetries(hr)
	}
	markRetrying(hr)
	return outcome{again: firstRetryDelay}
}

func stalledForRetries(hr *helmv2.HelmRelease) outcome {
	var attempts int64
	if remediation := hr.GetActiveRemediation(); remediation != nil {
		attempts = remediation.GetFailureCount(hr)
	}
	markStalled(hr, reasonRetriesExceeded, "Failed to %s after %d attempt(s)", hr.Status.LastAttemptedReleaseAction, attempts)
	return outcome{settled: true}
}
