// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"errors"
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
)

// releaseState is what Helm's storage holds, as compared with what the HelmRelease asks for.
type releaseState string

const (
	// stateAbsent: there is no release.
	stateAbsent releaseState = "absent"
	// stateLocked: an action on the release was interrupted.
	stateLocked releaseState = "locked"
	// stateUnmanaged: the release is not the one that the status recorded.
	stateUnmanaged releaseState = "unmanaged"
	// stateOutOfSync: the release was made from another chart or other values.
	stateOutOfSync releaseState = "out of sync"
	// stateFailed: the last action on the release failed.
	stateFailed releaseState = "failed"
	// stateDrifted: the release is what is asked for, its objects are not.
	stateDrifted releaseState = "drifted"
	// stateInSync: the release is what is asked for.
	stateInSync releaseState = "in sync"
)

// step is the next thing to do with a release.
type step string

// The names of the steps are those of Flux's messages.
const (
	stepNone      step = ""
	stepInstall   step = "install"
	stepUpgrade   step = "upgrade"
	stepUnlock    step = "unlock"
	stepRollback  step = "rollback"
	stepUninstall step = "uninstall"
	stepCorrect   step = "correct cluster drift"
)

// stepKind groups the steps: of each kind, one reconciliation does at most one.
type stepKind string

const (
	kindRelease   stepKind = "release"
	kindUnlock    stepKind = "unlock"
	kindRemediate stepKind = "remediate"
	kindCorrect   stepKind = "correct"
)

func (s step) kind() stepKind {
	switch s {
	case stepUnlock:
		return kindUnlock
	case stepRollback, stepUninstall:
		return kindRemediate
	case stepCorrect:
		return kindCorrect
	default:
		return kindRelease
	}
}

// errRetriesExceeded says that the spec allows no further try.
var errRetriesExceeded = errors.New("retries exceeded")

// errNoRollbackTarget says that there is no earlier release to roll back to.
var errNoRollbackTarget = errors.New("there is no release to roll back to")

// desired is what the HelmRelease asks for.
type desired struct {
	chart        *chart.Chart
	values       map[string]any
	configDigest string
}

// stateOf compares the newest stored release (nil when there is none) with what the status recorded and the spec asks for.
func stateOf(last *helmrelease.Release, recorded *helmv2.Snapshot, want desired) (releaseState, error) {
	switch {
	case last == nil:
		return stateAbsent, nil
	case last.Info.Status.IsPending():
		return stateLocked, nil
	case last.Info.Status == common.StatusUninstalled:
		return stateAbsent, nil
	case recorded == nil:
		return stateUnmanaged, nil
	}
	digest, err := digestRelease(last)
	if err != nil {
		return "", err
	}
	if !recorded.Targets(last.Name, last.Namespace, last.Version) || recorded.Digest != digest {
		return stateUnmanaged, nil
	}
	switch last.Info.Status {
	case common.StatusFailed:
		return stateFailed, nil
	case common.StatusDeployed:
		config, err := digestValues(last.Config)
		if err != nil {
			return "", err
		}
		metadata := last.Chart.Metadata
		if metadata.Name != want.chart.Metadata.Name || metadata.Version != want.chart.Metadata.Version || config != want.configDigest {
			return stateOutOfSync, nil
		}
		return stateInSync, nil
	default:
		return "", fmt.Errorf("no next step is known for a release that is %s", last.Info.Status)
	}
}

// nextStep decides what to do in a state. It fails with errRetriesExceeded where the spec's remediation forbids the step.
func nextStep(hr *helmv2.HelmRelease, state releaseState, forced bool) (step, error) {
	switch state {
	case stateLocked:
		return stepUnlock, nil
	case stateUnmanaged:
		return stepUpgrade, nil
	case stateAbsent:
		exhausted := hr.GetInstall().GetRetry(false) == nil && hr.GetInstall().GetRemediation().RetriesExhausted(hr)
		return unlessExhausted(stepInstall, exhausted, forced)
	case stateOutOfSync:
		exhausted := hr.GetUpgrade().GetRetry(false) == nil && hr.GetUpgrade().GetRemediation().RetriesExhausted(hr)
		return unlessExhausted(stepUpgrade, exhausted, forced)
	case stateFailed:
		return stepAfterFailure(hr, forced)
	case stateDrifted:
		if hr.GetDriftDetection().GetMode() == helmv2.DriftDetectionEnabled {
			return stepCorrect, nil
		}
		return stepNone, nil
	case stateInSync:
		if forced {
			return stepUpgrade, nil
		}
		return stepNone, nil
	default:
		return stepNone, fmt.Errorf("no next step is known for the state %q", state)
	}
}

func unlessExhausted(next step, exhausted, forced bool) (step, error) {
	if exhausted && !forced {
		return stepNone, errRetriesExceeded
	}
	return next, nil
}

// stepAfterFailure retries where something changed since the failure, a retry is forced, or the spec prefers retries to
// remediation; else it remediates as long as the spec allows it.
func stepAfterFailure(hr *helmv2.HelmRelease, forced bool) (step, error) {
	remediation := hr.GetActiveRemediation()
	if remediation == nil || hr.GetActiveRetry(false) != nil || remediation.GetFailureCount(hr) == 0 || forced {
		return stepUpgrade, nil
	}
	if remediation.RetriesExhausted(hr) && !remediation.MustRemediateLastFailure() {
		return stepNone, errRetriesExceeded
	}
	if remediation.GetStrategy() == helmv2.UninstallRemediationStrategy {
		return stepUninstall, nil
	}
	if hr.Status.History.Previous(true) == nil {
		return stepNone, errNoRollbackTarget
	}
	return stepRollback, nil
}

// mustResetFailures reports whether the failures so far say nothing about the next try, since something changed or a
// reset is requested. It notes the request as handled.
func mustResetFailures(hr *helmv2.HelmRelease, want desired) bool {
	requested := helmv2.ShouldHandleResetRequest(hr)
	return requested ||
		hr.Status.LastAttemptedGeneration != hr.Generation ||
		hr.Status.LastAttemptedRevision != want.chart.Metadata.Version ||
		hr.Status.LastAttemptedConfigDigest != want.configDigest
}
