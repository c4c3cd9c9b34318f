// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// run does one step and records its outcome on the object. An error means that Helm's storage did not change, so that the
// step can be tried again as it is.
func (h *helm) run(ctx context.Context, next step, want desired) error {
	switch next {
	case stepInstall:
		return h.runRelease(ctx, releaseAction{
			action: helmv2.ReleaseActionInstall, word: "install",
			succeeded: helmv2.InstallSucceededReason, failed: helmv2.InstallFailedReason,
			run: h.install, remediation: h.hr.GetInstall().GetRemediation(), retries: h.hr.GetInstall().GetRetry(false) != nil,
		}, want)
	case stepUpgrade:
		return h.runRelease(ctx, releaseAction{
			action: helmv2.ReleaseActionUpgrade, word: "upgrade",
			succeeded: helmv2.UpgradeSucceededReason, failed: helmv2.UpgradeFailedReason,
			run: h.upgrade, remediation: h.hr.GetUpgrade().GetRemediation(), retries: h.hr.GetUpgrade().GetRetry(false) != nil,
		}, want)
	case stepUnlock:
		return h.runUnlock()
	case stepRollback:
		return h.runRollback()
	case stepUninstall:
		return h.runUninstallRemediation()
	default:
		return fmt.Errorf("unknown step %q", next)
	}
}

// releaseAction is an install or an upgrade.
type releaseAction struct {
	action            helmv2.ReleaseAction
	word              string
	succeeded, failed string
	run               func(context.Context, *chart.Chart, map[string]any) error
	remediation       helmv2.Remediation
	// retries says that failures are retried rather than remediated.
	retries bool
}

// runRelease installs or upgrades and records the releases that Helm stored meanwhile.
func (h *helm) runRelease(ctx context.Context, a releaseAction, want desired) error {
	defer summarize(h.hr)
	h.hr.Status.LastAttemptedReleaseAction = a.action
	if a.action == helmv2.ReleaseActionInstall {
		h.hr.Status.ClearHistory() // An earlier release is never a target to roll back to from here on.
	}
	deleteCondition(h.hr, helmv2.RemediatedCondition)
	before, err := h.last()
	if err != nil {
		return err
	}
	started := time.Now()
	failure := a.run(ctx, want.chart, want.values)
	if ctx.Err() != nil {
		return ctx.Err() // The controller stops: what Helm says now is about that, not about the release.
	}
	h.hr.Status.LastAttemptedReleaseActionDuration = &metav1.Duration{Duration: time.Since(started)}
	stored, err := h.record(before, a.action)
	if err != nil {
		return errors.Join(failure, err)
	}
	if failure != nil {
		h.hr.Status.Failures++
		setCondition(h.hr, helmv2.ReleasedCondition, metav1.ConditionFalse, a.failed,
			fmt.Sprintf("Helm %s failed for release %s/%s with chart %s@%s: %s", a.word, h.hr.GetReleaseNamespace(),
				h.hr.GetReleaseName(), want.chart.Metadata.Name, want.chart.Metadata.Version, strings.TrimSpace(failure.Error())))
		if !stored {
			return failure
		}
		a.remediation.IncrementFailureCount(h.hr)
		return nil
	}
	latest := h.hr.Status.History.Latest()
	setCondition(h.hr, helmv2.ReleasedCondition, metav1.ConditionTrue, a.succeeded,
		fmt.Sprintf("Helm %s succeeded for release %s with chart %s", a.word, latest.FullReleaseName(), latest.VersionedChartName()))
	if a.retries {
		h.hr.Status.ClearFailures()
	}
	return nil
}

// record brings status.history in line with Helm's storage and reports whether a release was added since the given one.
func (h *helm) record(before *helmrelease.Release, action helmv2.ReleaseAction) (bool, error) {
	releases, err := h.history()
	if err != nil {
		return false, err
	}
	added := false
	for _, release := range releases {
		if err := h.refresh(release); err != nil {
			return false, err
		}
		if before != nil && release.Version <= before.Version {
			continue
		}
		added = true
		snapshot, err := snapshotOf(release, action)
		if err != nil {
			return false, err
		}
		h.hr.Status.History = append(helmv2.Snapshots{snapshot}, h.hr.Status.History...)
		if h.hr.Status.Inventory, err = inventoryOf(release, h.mapper); err != nil {
			return false, err
		}
	}
	return added, nil
}

// refresh renews the snapshot of a release that is recorded already; its action stays.
func (h *helm) refresh(release *helmrelease.Release) error {
	for i, recorded := range h.hr.Status.History {
		if !recorded.Targets(release.Name, release.Namespace, release.Version) {
			continue
		}
		snapshot, err := snapshotOf(release, recorded.Action)
		if err != nil {
			return err
		}
		h.hr.Status.History[i] = snapshot
	}
	return nil
}

// runUnlock ends the pending state that an interrupted action left behind.
func (h *helm) runUnlock() error {
	defer summarize(h.hr)
	last, err := h.last()
	if err != nil {
		return err
	}
	if last == nil || !last.Info.Status.IsPending() {
		return nil
	}
	pending := last.Info.Status
	snapshot, err := snapshotOf(last, "")
	if err != nil {
		return err
	}
	last.SetStatus(common.StatusFailed, fmt.Sprintf("Release unlocked from stale '%s' state", pending))
	if err := h.config.Releases.Update(last); err != nil {
		return fmt.Errorf("unlock the release: %w", err)
	}
	setCondition(h.hr, helmv2.ReleasedCondition, metav1.ConditionFalse, reasonPendingRelease,
		fmt.Sprintf("Unlocked Helm release %s with chart %s in %s state", snapshot.FullReleaseName(), snapshot.VersionedChartName(), pending))
	return h.refresh(last)
}

// runRollback goes back to the release before the failed one.
func (h *helm) runRollback() error {
	defer summarize(h.hr)
	before, err := h.last()
	if err != nil {
		return err
	}
	previous := h.hr.Status.History.Previous(true)
	failure := h.rollback(previous.Version)
	if _, err := h.record(before, helmv2.ReleaseActionRollback); err != nil {
		return errors.Join(failure, err)
	}
	message := fmt.Sprintf("Helm rollback to previous release %s with chart %s", previous.FullReleaseName(), previous.VersionedChartName())
	if failure != nil {
		h.hr.Status.Failures++
		setCondition(h.hr, helmv2.RemediatedCondition, metav1.ConditionFalse, helmv2.RollbackFailedReason,
			message+" failed: "+strings.TrimSpace(failure.Error()))
		return nil
	}
	setCondition(h.hr, helmv2.RemediatedCondition, metav1.ConditionTrue, helmv2.RollbackSucceededReason, message+" succeeded")
	return nil
}

// runUninstallRemediation removes a release whose installation failed. Ready keeps telling why it failed.
func (h *helm) runUninstallRemediation() error {
	latest := h.hr.Status.History.Latest()
	message := fmt.Sprintf("Helm uninstall remediation for release %s with chart %s", latest.FullReleaseName(), latest.VersionedChartName())
	if err := h.uninstall(); err != nil {
		h.hr.Status.Failures++
		setCondition(h.hr, helmv2.RemediatedCondition, metav1.ConditionFalse, helmv2.UninstallFailedReason,
			message+" failed: "+strings.TrimSpace(err.Error()))
		return err
	}
	latest.Status = common.StatusUninstalling.String() // The last state that Helm stores before it forgets the release.
	setCondition(h.hr, helmv2.RemediatedCondition, metav1.ConditionTrue, helmv2.UninstallSucceededReason, message+" succeeded")
	return nil
}
