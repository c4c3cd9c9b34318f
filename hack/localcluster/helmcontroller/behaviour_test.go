// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newRelease returns a HelmRelease of the test chart, with a repository of its own, in a new namespace.
func newRelease(t *testing.T, namespace string, values map[string]any) *helmv2.HelmRelease {
	t.Helper()
	createNamespace(t, namespace)
	create(t, repository(namespace, "charts"))
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "server"},
		Spec: helmv2.HelmReleaseSpec{
			ReleaseName: "server",
			Interval:    metav1.Duration{Duration: 10 * time.Minute},
			Timeout:     &metav1.Duration{Duration: patientTimeout},
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "server", Version: "0.1.0",
				SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: "charts"},
			}},
			Values: &apiextensionsv1.JSON{Raw: raw},
		},
	}
}

// conditionsOf writes the conditions without their messages, in the order of their types.
func conditionsOf(s state) string {
	short := make([]string, 0, len(s.Conditions))
	for _, c := range s.Conditions {
		short = append(short, strings.SplitN(c, " ", 2)[0])
	}
	slices.Sort(short)
	return strings.Join(short, " ")
}

// awaitState waits for a state and returns how many states were seen up to it, counted from the given number.
func (o *observed) awaitState(t *testing.T, from int, what string, is func(state) bool) int {
	t.Helper()
	deadline := time.NewTimer(stateTimeout)
	defer deadline.Stop()
	for {
		states := o.soFar()
		if i := slices.IndexFunc(states[from:], is); i >= 0 {
			return from + i + 1
		}
		select {
		case <-o.changed:
		case <-deadline.C:
			t.Fatalf("%s within %s; states: %v", what, stateTimeout, states[from:])
		}
	}
}

func TestRetryOnFailureObservesTheGenerationAndRetriesAsAnUpgrade(t *testing.T) {
	t.Parallel()
	hr := newRelease(t, "retry", map[string]any{"image": "registry.test/server-does-not-exist:1"})
	hr.Spec.Timeout.Duration = failingTimeout
	retry := metav1.Duration{Duration: time.Second}
	name := string(helmv2.ActionStrategyRetryOnFailure)
	hr.Spec.Install = &helmv2.Install{Strategy: &helmv2.InstallStrategy{Name: name, RetryInterval: &retry}}
	hr.Spec.Upgrade = &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{Name: name, RetryInterval: &retry}}
	seen := watchRelease(t, hr.Namespace)
	create(t, hr)

	failed := seen.awaitState(t, 0, "a failed installation", func(s state) bool { return s.Observed == 1 })
	want := "Ready=False/InstallFailed@1 Reconciling=True/ProgressingWithRetry@1 Released=False/InstallFailed@1"
	if got := conditionsOf(seen.soFar()[failed-1]); got != want {
		t.Errorf("conditions after the failure:\n got %s\nwant %s", got, want)
	}
	again := seen.awaitState(t, failed, "a second try", func(s state) bool { return strings.Contains(conditionsOf(s), "Ready=Unknown") })
	seen.awaitState(t, again, "its failure", func(s state) bool {
		return conditionsOf(s) == "Ready=False/UpgradeFailed@1 Reconciling=True/ProgressingWithRetry@1 Released=False/UpgradeFailed@1"
	})
	for _, s := range seen.soFar() {
		if strings.Contains(conditionsOf(s), "Stalled") {
			t.Errorf("stalled although the strategy retries: %v", s)
		}
	}
}

func TestDriftIsCorrectedAndTold(t *testing.T) {
	t.Parallel()
	hr := newRelease(t, "drift", map[string]any{"replicas": 1})
	hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
	seen := watchRelease(t, hr.Namespace)
	create(t, hr)
	const settled = "Drifted=False/NoDriftDetected@1 Ready=True/InstallSucceeded@1 Released=True/InstallSucceeded@1"
	installed := seen.awaitState(t, 0, "an installation", func(s state) bool { return s.Observed == 1 && conditionsOf(s) == settled })

	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: "server"}}
	if err := testCluster.client.Delete(t.Context(), deployment); err != nil {
		t.Fatalf("Delete the Deployment: %v", err)
	}
	requestReconciliation(t, hr, "drift")
	corrected := seen.awaitState(t, installed, "a correction", func(s state) bool { return strings.Contains(conditionsOf(s), "Drifted=True") })
	end := seen.awaitState(t, corrected, "its end", func(s state) bool { return conditionsOf(s) == settled })

	got := make([]string, 0, end-installed)
	for _, s := range seen.soFar()[installed:end] {
		got = append(got, conditionsOf(s))
	}
	want := []string{
		"Drifted=False/NoDriftDetected@1 Ready=True/InstallSucceeded@1 Reconciling=True/Progressing@1 Released=True/InstallSucceeded@1",
		"Drifted=True/DriftDetected@1 Ready=True/InstallSucceeded@1 Reconciling=True/Progressing@1 Released=True/InstallSucceeded@1",
		"Drifted=True/DriftDetected@1 Ready=Unknown/Progressing@1 Reconciling=True/Progressing@1 Released=True/InstallSucceeded@1",
		settled,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions during the correction (-want +got):\n%s", diff)
	}
	if err := testCluster.client.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
		t.Errorf("the Deployment after the correction: %v", err)
	}
}

func TestUnsupportedPartsOfASpecAreNamed(t *testing.T) {
	t.Parallel()
	hr := newRelease(t, "unsupported", nil)
	hr.Spec.Values = nil
	hr.Spec.ValuesFrom = []fluxmeta.ValuesReference{{Kind: "ConfigMap", Name: "values"}}
	seen := watchRelease(t, hr.Namespace)
	create(t, hr)
	seen.awaitState(t, 0, "the refusal", func(s state) bool {
		return slices.ContainsFunc(s.Conditions, func(c string) bool {
			return strings.HasPrefix(c, "Ready=False/ValuesError@1 spec.valuesFrom is not supported")
		})
	})
}

func requestReconciliation(t *testing.T, hr *helmv2.HelmRelease, token string) {
	t.Helper()
	patch := []byte(`{"metadata":{"annotations":{"` + fluxmeta.ReconcileRequestAnnotation + `":"` + token + `"}}}`)
	live := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name}}
	if err := testCluster.client.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatalf("Request a reconciliation: %v", err)
	}
}
