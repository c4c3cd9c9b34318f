// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"errors"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	helmrelease "helm.sh/helm/v4/pkg/release/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// storedRelease is version 1 of a release in Helm's storage.
func storedRelease(status common.Status) *helmrelease.Release {
	return &helmrelease.Release{
		Name: "shop", Namespace: "prod", Version: 1, Config: map[string]any{"replicas": 2},
		Info:  &helmrelease.Info{Status: status},
		Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "2.4.1"}},
	}
}

func wanted(t *testing.T, version string, values map[string]any) desired {
	t.Helper()
	digest, err := digestValues(values)
	if err != nil {
		t.Fatal(err)
	}
	return desired{chart: &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: version}}, values: values, configDigest: digest}
}

func TestStateOfComparesHelmsStorageWithStatusAndSpec(t *testing.T) {
	same := wanted(t, "2.4.1", map[string]any{"replicas": 2})
	tests := map[string]struct {
		stored      *helmrelease.Release
		notRecorded bool
		changed     bool // since it was recorded
		want        desired
		wantState   releaseState
		wantErr     bool
	}{
		"no release is absent":                                 {want: same, wantState: stateAbsent},
		"an uninstalled release is absent":                     {stored: storedRelease(common.StatusUninstalled), want: same, wantState: stateAbsent},
		"an interrupted installation is locked":                {stored: storedRelease(common.StatusPendingInstall), want: same, wantState: stateLocked},
		"an interrupted upgrade is locked":                     {stored: storedRelease(common.StatusPendingUpgrade), want: same, wantState: stateLocked},
		"a release that was never recorded is unmanaged":       {stored: storedRelease(common.StatusDeployed), notRecorded: true, want: same, wantState: stateUnmanaged},
		"a release that someone changed is unmanaged":          {stored: storedRelease(common.StatusDeployed), changed: true, want: same, wantState: stateUnmanaged},
		"a failed release is failed":                           {stored: storedRelease(common.StatusFailed), want: same, wantState: stateFailed},
		"the same chart and values are in sync":                {stored: storedRelease(common.StatusDeployed), want: same, wantState: stateInSync},
		"another chart version is out of sync":                 {stored: storedRelease(common.StatusDeployed), want: wanted(t, "2.5.0", same.values), wantState: stateOutOfSync},
		"other values are out of sync":                         {stored: storedRelease(common.StatusDeployed), want: wanted(t, "2.4.1", nil), wantState: stateOutOfSync},
		"a release that is being uninstalled has no next step": {stored: storedRelease(common.StatusUninstalling), want: same, wantErr: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var recorded *helmv2.Snapshot
			if test.stored != nil && !test.notRecorded {
				var err error
				if recorded, err = snapshotOf(test.stored, helmv2.ReleaseActionInstall); err != nil {
					t.Fatal(err)
				}
			}
			if test.changed {
				test.stored.Manifest = "changed"
			}
			got, err := stateOf(test.stored, recorded, test.want)
			if (err != nil) != test.wantErr || got != test.wantState {
				t.Errorf("state = %q, %v, want %q, error %t", got, err, test.wantState, test.wantErr)
			}
		})
	}
}

func TestNextStep(t *testing.T) {
	retry := func(hr *helmv2.HelmRelease) {
		name := string(helmv2.ActionStrategyRetryOnFailure)
		hr.Spec.Install = &helmv2.Install{Strategy: &helmv2.InstallStrategy{Name: name}}
		hr.Spec.Upgrade = &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{Name: name}}
	}
	installFailed := func(hr *helmv2.HelmRelease) {
		hr.Status.LastAttemptedReleaseAction, hr.Status.InstallFailures = helmv2.ReleaseActionInstall, 1
	}
	upgradeFailed := func(hr *helmv2.HelmRelease) {
		hr.Status.LastAttemptedReleaseAction, hr.Status.UpgradeFailures = helmv2.ReleaseActionUpgrade, 1
		hr.Status.History = helmv2.Snapshots{{Version: 2, Status: "failed"}, {Version: 1, Status: "deployed"}}
	}
	remediate := func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 1}}
		hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Retries: 1}}
	}
	drift := func(mode helmv2.DriftDetectionMode) func(*helmv2.HelmRelease) {
		return func(hr *helmv2.HelmRelease) { hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: mode} }
	}
	type changes []func(*helmv2.HelmRelease)
	tests := map[string]struct {
		state   releaseState
		hr      changes
		forced  bool
		want    step
		wantErr error
	}{
		"an absent release is installed":                           {state: stateAbsent, want: stepInstall},
		"an absent release without retries left is left":           {state: stateAbsent, hr: changes{installFailed}, wantErr: errRetriesExceeded},
		"an absent release is installed when it is forced":         {state: stateAbsent, hr: changes{installFailed}, forced: true, want: stepInstall},
		"a locked release is unlocked":                             {state: stateLocked, want: stepUnlock},
		"an unmanaged release is upgraded":                         {state: stateUnmanaged, want: stepUpgrade},
		"a release out of sync is upgraded":                        {state: stateOutOfSync, want: stepUpgrade},
		"a release out of sync without retries left is left":       {state: stateOutOfSync, hr: changes{upgradeFailed}, wantErr: errRetriesExceeded},
		"a failed release is upgraded when something changed":      {state: stateFailed, want: stepUpgrade},
		"a failed release is retried where the strategy says so":   {state: stateFailed, hr: changes{installFailed, retry}, want: stepUpgrade},
		"a failed release without retries left is left":            {state: stateFailed, hr: changes{installFailed}, wantErr: errRetriesExceeded},
		"a failed installation with a retry left is uninstalled":   {state: stateFailed, hr: changes{installFailed, remediate}, want: stepUninstall},
		"a failed upgrade with a retry left is rolled back":        {state: stateFailed, hr: changes{upgradeFailed, remediate}, want: stepRollback},
		"a failed upgrade without an earlier release is left":      {state: stateFailed, hr: changes{upgradeFailed, remediate, func(hr *helmv2.HelmRelease) { hr.Status.ClearHistory() }}, wantErr: errNoRollbackTarget},
		"a failed release is upgraded when it is forced":           {state: stateFailed, hr: changes{upgradeFailed}, forced: true, want: stepUpgrade},
		"a release in sync is left":                                {state: stateInSync, want: stepNone},
		"a release in sync is upgraded when it is forced":          {state: stateInSync, forced: true, want: stepUpgrade},
		"a drifted release is corrected":                           {state: stateDrifted, hr: changes{drift(helmv2.DriftDetectionEnabled)}, want: stepCorrect},
		"a drifted release is left where drift is only to be told": {state: stateDrifted, hr: changes{drift(helmv2.DriftDetectionWarn)}, forced: true, want: stepNone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hr := &helmv2.HelmRelease{}
			for _, change := range test.hr {
				change(hr)
			}
			got, err := nextStep(hr, test.state, test.forced)
			if got != test.want || !errors.Is(err, test.wantErr) {
				t.Errorf("next step = %q, %v, want %q, %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestFailuresAreForgottenWhenSomethingChanged(t *testing.T) {
	want := wanted(t, "2.4.1", nil)
	tests := map[string]struct {
		change func(*helmv2.HelmRelease)
		want   bool
	}{
		"nothing changed":                    {change: func(*helmv2.HelmRelease) {}},
		"the generation changed":             {change: func(hr *helmv2.HelmRelease) { hr.Generation = 2 }, want: true},
		"the chart version changed":          {change: func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevision = "2.4.0" }, want: true},
		"the values changed":                 {change: func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedConfigDigest = "sha256:0" }, want: true},
		"a reset is requested":               {change: annotate("now", "now"), want: true},
		"a reset without a request is none":  {change: annotate("", "now")},
		"a reset of another request is none": {change: annotate("now", "before")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hr := &helmv2.HelmRelease{
				ObjectMeta: metav1.ObjectMeta{Generation: 1},
				Status: helmv2.HelmReleaseStatus{
					LastAttemptedGeneration: 1, LastAttemptedRevision: "2.4.1", LastAttemptedConfigDigest: want.configDigest,
				},
			}
			test.change(hr)
			if got := mustResetFailures(hr, want); got != test.want {
				t.Errorf("= %t, want %t", got, test.want)
			}
		})
	}
}

func annotate(requestedAt, resetAt string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": requestedAt, helmv2.ResetRequestAnnotation: resetAt}
	}
}
