// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestO4WorkloadsOfEveryKind: a StatefulSet and a DaemonSet count as a
// Deployment does.
func TestO4WorkloadsOfEveryKind(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	for _, name := range []string{"database", "agent"} {
		d.Spec.Components = append(d.Spec.Components, styrminv1.ComponentSpec{
			Name: name, Replicas: 1, Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		})
	}
	f.create(d)
	waitsFor := func(want string) {
		t.Helper()
		eventually(t, "the message", func() error {
			if got := f.get().Status.Message; got != want {
				return fmt.Errorf("it is %q, want %q", got, want)
			}
			return nil
		})
	}
	waitsFor("waiting for component database: no workload or pod matches its selector")

	template := func(name string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "registry.test/" + name}}},
		}
	}
	selector := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.target, Name: "database"},
		Spec:       appsv1.StatefulSetSpec{Selector: selector("database"), Template: template("database")},
	}
	daemon := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.target, Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selector("agent"), Template: template("agent")},
	}
	f.createWithStatus(set, func() {
		set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 1, ReadyReplicas: 1, CurrentReplicas: 1, UpdatedReplicas: 1}
	})
	f.createPod(template("database"))
	waitsFor("waiting for component agent: no workload or pod matches its selector")
	f.createWithStatus(daemon, func() {
		daemon.Status = appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 1, CurrentNumberScheduled: 1}
	})
	waitsFor("waiting for component agent: 0 of 1 pods are ready; DaemonSet agent: Updated: 0/1")
	f.createPod(template("agent"))
	daemon.Status.UpdatedNumberScheduled, daemon.Status.NumberAvailable, daemon.Status.NumberReady = 1, 1, 1
	if err := f.client.Status().Update(t.Context(), daemon); err != nil {
		t.Fatal(err)
	}
	d = f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	want := []styrminv1.ComponentStatus{
		{Name: "server", Desired: 2, Ready: 2, State: styrminv1.ComponentRunning},
		{Name: "database", Desired: 1, Ready: 1, State: styrminv1.ComponentRunning},
		{Name: "agent", Desired: 1, Ready: 1, State: styrminv1.ComponentRunning},
	}
	if diff := cmp.Diff(want, d.Status.Components); diff != "" {
		t.Errorf("components differ (-want +got):\n%s", diff)
	}
}

func (f *fixture) createWithStatus(obj client.Object, status func()) {
	f.t.Helper()
	if err := f.client.Create(f.t.Context(), obj); err != nil {
		f.t.Fatal(err)
	}
	f.setStatus(obj, status)
}

func (f *fixture) setStatus(obj client.Object, status func()) {
	f.t.Helper()
	status()
	if err := f.client.Status().Update(f.t.Context(), obj); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) createPod(template corev1.PodTemplateSpec) {
	f.t.Helper()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.GenerateName = f.target, "pod-"
	f.createWithStatus(pod, func() { pod.Status = podStatus(pod, true) })
}

// TestE07ChartThatIsNotThere: the message is the HelmChart's, which knows before
// the HelmRelease does.
func TestE07ChartThatIsNotThere(t *testing.T) {
	opts := fast()
	opts.SourceDebounce = time.Millisecond
	startOperator(t, apiServer, opts, nil)
	sim := simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	sim.set(sim.manual, f.target, true)
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseCreatingHelmRelease, styrminv1.DisplayStateDeploying)
	chart := &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.target, Name: f.target + "-shop"},
		Spec: sourcev1.HelmChartSpec{
			Chart: "shop", Version: "9.9.9", Interval: metav1.Duration{Duration: opts.withDefaults().HelmInterval},
			SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.HelmRepositoryKind, Name: "shop"},
		},
	}
	f.createWithStatus(chart, func() {
		chart.Status.Conditions = []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: 1, LastTransitionTime: metav1.Now(),
			Reason: "InvalidChartReference", Message: "no chart version found",
		}}
	})
	eventually(t, "Flux to say that the source is not ready", func() error {
		hr := &helmv2.HelmRelease{}
		f.exists(hr, f.target, "shop")
		hr.Status.Conditions = []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: hr.Generation, LastTransitionTime: metav1.Now(),
			Reason: "SourceNotReady", Message: "latest generation of object has not been reconciled",
		}}
		return f.client.Status().Update(t.Context(), hr)
	})
	d = f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	if want := "chart shop 9.9.9: no chart version found"; d.Status.Message != want {
		t.Errorf("message = %q, want %q", d.Status.Message, want)
	}
	sim.set(sim.manual, f.target, false)
	f.touch(&helmv2.HelmRelease{}, f.target, "shop")
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// TestCaseH02MissingPermissionIsNotReady: a kind that may not be listed keeps
// the operator from being ready, until it may.
func TestCaseH02MissingPermissionIsNotReady(t *testing.T) {
	config, role := restricted(t, func(rule *rbacv1.PolicyRule) {
		rule.Resources = slices.DeleteFunc(rule.Resources, func(r string) bool { return r == "services" })
	})
	admin := newClient(t, apiServer)
	mgr := newManager(t, config, nil, nil)
	made, err := newMadeCache(mgr)
	if err != nil {
		t.Fatal(err)
	}
	start(t, mgr)
	if _, err := made.GetInformer(t.Context(), &corev1.Service{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	check := syncedChecker(made)
	probe := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	eventually(t, "the operator not to be ready", func() error {
		if check(probe) == nil {
			return errText("it is")
		}
		return nil
	})
	role.Rules = shippedRole(t).Rules
	if err := admin.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the operator to be ready", func() error { return check(probe) })
}
