// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// writtenStatus reads the status from the body of a status write, nil for any
// other request.
func writtenStatus(t *testing.T, r request) *styrminv1.StyrminDeploymentStatus {
	t.Helper()
	if r.resource != "styrmindeployments/status" {
		return nil
	}
	data, err := yaml.ToJSON(r.body)
	if err != nil {
		t.Fatalf("reading a status write: %v", err)
	}
	d := &styrminv1.StyrminDeployment{}
	if err := json.Unmarshal(data, d); err != nil {
		t.Fatalf("reading a status write: %v", err)
	}
	return &d.Status
}

func TestO1FirstWriteOfARolloutIsItsStatus(t *testing.T) {
	w := &wire{}
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	position := len(w.writes(f.key.Namespace, f.target))
	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) { s.Components[0].Replicas = 1 })
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	first := slices.DeleteFunc(w.writes(f.key.Namespace, f.target)[:position], func(r request) bool { return r.refused })
	second := w.writesFrom(position, f.key.Namespace, f.target)

	for _, rollout := range []struct {
		instance   string
		generation int64
		writes     []request
	}{{"i-1", 1, first}, {"i-2", 2, second}} {
		status := writtenStatus(t, rollout.writes[0])
		if status == nil {
			t.Fatalf("%s: the first write was %s, want the status", rollout.instance, rollout.writes[0])
		}
		if status.InstanceID != rollout.instance || status.ObservedGeneration != rollout.generation ||
			status.Phase != styrminv1.PhaseCreatingPrerequisites || status.DisplayState != styrminv1.DisplayStateDeploying {
			t.Errorf("first status of %s = %+v", rollout.instance, status)
		}
		for _, conditionType := range conditionTypes {
			c := apimeta.FindStatusCondition(status.Conditions, conditionType)
			if c == nil || c.Status == metav1.ConditionTrue || c.ObservedGeneration != rollout.generation {
				t.Errorf("first status of %s: condition %s = %+v, want one that is not True, of generation %d",
					rollout.instance, conditionType, c, rollout.generation)
			}
		}
	}
	if want := "patch styrmindeployments " + f.key.String(); first[1].String() != want {
		t.Errorf("the second write of a new object was %s, want the finalizer", first[1])
	}
	if n := len(first); n > 25 {
		t.Errorf("creating a deployment took %d writes, want at most 25:\n%v", n, first)
	}
}

// TestE04SameValuesForANewInstance: the release was installed and nothing in it
// changes, yet the old Ready does not pass for the new try.
func TestE04SameValuesForANewInstance(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	sim := simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)

	sim.set(sim.manual, f.target, true) // Flux is away.
	f.roll("i-2", func(*styrminv1.StyrminDeploymentSpec) {})
	d = f.waitFor("i-2", styrminv1.PhaseCreatingHelmRelease, styrminv1.DisplayStateDeploying)
	if want := "waiting until Flux has tried again"; d.Status.Message != want {
		t.Errorf("message = %q, want %q", d.Status.Message, want)
	}
	sim.set(sim.manual, f.target, false)
	f.touch(&helmv2.HelmRelease{}, f.target, "shop")
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// TestO5LeavesFailedWhenTheCauseGoes: nothing is written to the spec.
func TestO5LeavesFailedWhenTheCauseGoes(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	d.Spec.Secrets = []styrminv1.SecretSpec{{Name: "db", FromSecret: &styrminv1.SecretReference{Name: "db-source"}}}
	f.create(d)
	d = f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	c := apimeta.FindStatusCondition(d.Status.Conditions, styrminv1.ConditionPrerequisitesReady)
	if c.Reason != styrminv1.ReasonInvalidSpec || !strings.Contains(c.Message, f.key.Namespace+"/db-source") {
		t.Errorf("PrerequisitesReady = %s: %q, want InvalidSpec that names the secret", c.Reason, c.Message)
	}

	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: "db-source"},
		StringData: map[string]string{"password": "one"},
	}
	if err := f.client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	copied := &corev1.Secret{}
	copiedIs := func(want string) {
		t.Helper()
		eventually(t, "the copy to follow its source", func() error {
			f.exists(copied, f.target, "db")
			if diff := cmp.Diff(want, string(copied.Data["password"])); diff != "" {
				return errText(diff)
			}
			return nil
		})
	}
	copiedIs("one")
	source.StringData = map[string]string{"password": "two"}
	if err := f.client.Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	copiedIs("two")
	copied.Data["password"] = []byte("meddled")
	if err := f.client.Update(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	copiedIs("two")

	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) { s.Secrets = nil })
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	if f.exists(&corev1.Secret{}, f.target, "db") {
		t.Error("a copy that the spec no longer has is left")
	}
}

// TestO2GeneratedSecretsStay: their values are made once.
func TestO2GeneratedSecretsStay(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	first := &corev1.Secret{}
	f.exists(first, f.target, "token")
	if n := len(first.Data["token"]); n != 32 {
		t.Errorf("the generated value has %d characters, want 32", n)
	}
	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) {
		s.Secrets[0].Generate = &styrminv1.GenerateSpec{Keys: []string{"token", "second"}, Length: 16}
	})
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	second := &corev1.Secret{}
	f.exists(second, f.target, "token")
	if string(second.Data["token"]) != string(first.Data["token"]) || len(second.Data["second"]) != 16 {
		t.Errorf("values after adding a key: the first one changed or the second one is missing (%d keys)", len(second.Data))
	}
	f.roll("i-3", func(s *styrminv1.StyrminDeploymentSpec) { s.Secrets = nil })
	f.waitFor("i-3", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	if !f.exists(&corev1.Secret{}, f.target, "token") {
		t.Error("a generated secret was removed; its values are lost")
	}
}

// TestO2ServicesFollowTheSpec: what the spec no longer has goes.
func TestO2ServicesFollowTheSpec(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) {
		s.Services[0].Name, s.Services[0].HTTP = "api", nil
		s.Middlewares = nil
		s.NetworkPolicy = styrminv1.NetworkPolicySpec{Isolation: styrminv1.IsolationNone}
	})
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	got := f.made()
	want := []string{"HelmRelease shop", "HelmRepository shop", "Secret token", "Service api"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects of the target namespace differ (-want +got):\n%s", diff)
	}
}

// TestO8WhatIsTakenAwayComesBack: deleted or changed by someone, made again.
func TestO8WhatIsTakenAwayComesBack(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	service := &corev1.Service{}
	f.exists(service, f.target, "web")
	service.Spec.Ports[0].Port = 81
	if err := f.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the port to be put right", func() error {
		f.exists(service, f.target, "web")
		if service.Spec.Ports[0].Port != 80 {
			return errText("it is still another")
		}
		return nil
	})
	if err := f.client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Service to come back", func() error {
		again := &corev1.Service{}
		if !f.exists(again, f.target, "web") || again.UID == service.UID {
			return errText("it has not")
		}
		return nil
	})
}

// errText is an error of a text, for what a check sees.
type errText string

func (e errText) Error() string { return string(e) }
