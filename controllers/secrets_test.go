// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestO2CopiesThatCannotBeChangedAreMadeAnew: a Secret's type is for ever, and so
// is all of an immutable one.
func TestO2CopiesThatCannotBeChangedAreMadeAnew(t *testing.T) {
	w := &wire{}
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	source := func(kind corev1.SecretType, value string) *corev1.Secret {
		s := &corev1.Secret{Type: kind, StringData: map[string]string{"username": value, "password": value}}
		s.Namespace, s.Name = f.key.Namespace, "source"
		return s
	}
	first := source(corev1.SecretTypeOpaque, "one")
	if err := f.client.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	d.Spec.Secrets = []styrminv1.SecretSpec{{Name: "copy", FromSecret: &styrminv1.SecretReference{Name: "source"}}}
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	isCopied := func(kind corev1.SecretType, value string) *corev1.Secret {
		t.Helper()
		copied := &corev1.Secret{}
		eventually(t, "the copy to follow its source", func() error {
			if !f.exists(copied, f.target, "copy") || copied.Type != kind || string(copied.Data["password"]) != value {
				return errText(string(copied.Type))
			}
			return nil
		})
		return copied
	}
	copied := isCopied(corev1.SecretTypeOpaque, "one")

	copied.Immutable = ptr.To(true)
	if err := f.client.Update(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	first.StringData = map[string]string{"password": "two"}
	if err := f.client.Update(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	isCopied(corev1.SecretTypeOpaque, "two")

	if err := f.client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	if err := f.client.Create(t.Context(), source(corev1.SecretTypeBasicAuth, "three")); err != nil {
		t.Fatal(err)
	}
	isCopied(corev1.SecretTypeBasicAuth, "three")
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// TestO2ValuesAddedToACopyAreRemoved, of a source without values, too.
func TestO2ValuesAddedToACopyAreRemoved(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	for name, values := range map[string]map[string]string{"full": {"password": "one"}, "empty": nil} {
		source := &corev1.Secret{StringData: values}
		source.Namespace, source.Name = f.key.Namespace, "source-of-"+name
		if err := f.client.Create(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		d.Spec.Secrets = append(d.Spec.Secrets, styrminv1.SecretSpec{Name: name, FromSecret: &styrminv1.SecretReference{Name: source.Name}})
	}
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	for name, values := range map[string]int{"full": 1, "empty": 0} {
		copied := &corev1.Secret{}
		f.exists(copied, f.target, name)
		copied.StringData = map[string]string{"foreign": "value"}
		if err := f.client.Update(t.Context(), copied); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the value that the source of "+name+" has not to go", func() error {
			if f.exists(copied, f.target, name); len(copied.Data) != values || copied.Data["foreign"] != nil {
				return fmt.Errorf("there are %d values", len(copied.Data))
			}
			return nil
		})
	}
}

// TestO7ObjectsOfOursOnTheirWayOutAreMadeAnew: what someone deleted and something
// holds cannot be changed; the phase waits until it is gone.
func TestO7ObjectsOfOursOnTheirWayOutAreMadeAnew(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	const holder = "test.example/holds"
	service, token := &corev1.Service{}, &corev1.Secret{}
	f.exists(service, f.target, "web")
	f.exists(token, f.target, "token")
	service.Finalizers, token.Finalizers = []string{holder}, []string{holder}
	if err := f.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if err := f.client.Update(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	says := func(want string) {
		t.Helper()
		eventually(t, "the phase to wait", func() error {
			if got := f.get().Status.Message; !strings.HasSuffix(got, want) {
				return errText(got)
			}
			return nil
		})
	}
	if err := f.client.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	says("waiting until Service " + f.target + "/web is gone, which is being deleted")
	if err := f.client.Delete(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	says("waiting until Secret " + f.target + "/token is gone, which is being deleted")
	f.exists(service, f.target, "web")
	f.exists(token, f.target, "token")
	old := service.UID
	service.Finalizers, token.Finalizers = nil, nil
	if err := f.client.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	if err := f.client.Update(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	again := &corev1.Service{}
	if !f.exists(again, f.target, "web") || again.UID == old {
		t.Error("the Service was not made anew")
	}
}
