// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// reconciles is how many reconciles all operators of this process have ended.
func reconciles(t testing.TB) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var n float64
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controllerName {
					n += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}

// causeReconciles does something that makes the operator look, and waits until
// it has.
func causeReconciles(t *testing.T, what func()) {
	t.Helper()
	before := reconciles(t)
	what()
	eventually(t, "a reconcile", func() error {
		if reconciles(t) == before {
			return errText("there was none")
		}
		return nil
	})
}

// TestO8SettledDeploymentsCostNoWrites: neither events of their pods and objects
// nor a restart of the operator make it write.
func TestO8SettledDeploymentsCostNoWrites(t *testing.T) {
	w := &wire{}
	first := startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	source := &corev1.Secret{StringData: map[string]string{"a": "b"}}
	source.Namespace, source.Name = f.key.Namespace, "source"
	if err := f.client.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	d.Spec.Secrets = append(d.Spec.Secrets, styrminv1.SecretSpec{Name: "copy", FromSecret: &styrminv1.SecretReference{Name: "source"}})
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	// What was read before the last write may have led to one that was refused.
	causeReconciles(t, func() { f.touch(&corev1.Pod{}, f.target, f.podName()) })
	settled := len(w.writes(f.key.Namespace, f.target))

	causeReconciles(t, func() { f.touch(&corev1.Service{}, f.target, "web") })
	causeReconciles(t, func() { f.touch(&corev1.Secret{}, f.target, "token") })
	causeReconciles(t, func() { f.touch(&corev1.Secret{}, f.key.Namespace, "source") })
	causeReconciles(t, func() { f.touch(&corev1.Pod{}, f.target, f.podName()) })
	first.stop(t)
	causeReconciles(t, func() { startOperator(t, w.tapped(apiServer), fast(), nil) })
	causeReconciles(t, func() { f.touch(&corev1.Pod{}, f.target, f.podName()) })
	if more := w.writesFrom(settled, f.key.Namespace, f.target); len(more) > 0 {
		t.Errorf("a settled deployment cost %d writes: %v, the first of %s", len(more), more, more[0].body)
	}
}

// TestE09StatusConflicts: the object changes under each second status write. The
// status ends right, and the instance never goes back.
func TestE09StatusConflicts(t *testing.T) {
	w := &wire{}
	admin := newClient(t, apiServer)
	var f *fixture
	var n atomic.Int64
	w.before = func(r request) error {
		if r.resource != "styrmindeployments/status" || n.Add(1)%2 == 0 {
			return nil
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, n.Load())
		d := &styrminv1.StyrminDeployment{}
		d.Namespace, d.Name = f.key.Namespace, f.key.Name
		return admin.Patch(t.Context(), d, client.RawPatch("application/merge-patch+json", []byte(patch)))
	}
	f, d := newFixture(t, admin, "shop")
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) { s.Components[0].Replicas = 1 })
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	var instances []string
	for _, r := range w.writes(f.key.Namespace) {
		if status := writtenStatus(t, r); status != nil {
			instances = append(instances, status.InstanceID)
		}
	}
	if !slices.IsSorted(instances) {
		t.Errorf("the instance went back: %v", instances)
	}
}

// anyUID is an object's UID in the body of a delete.
var anyUID = regexp.MustCompile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

// TestO8EveryWriteIsAnApply: status and finalizer are server-side applies of the
// operator, and all that is written in another way is so for one version of the
// object.
func TestO8EveryWriteIsAnApply(t *testing.T) {
	w := &wire{}
	startOperator(t, w.tapped(apiServer), fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	d = f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	for _, entry := range d.ManagedFields {
		if entry.Manager == styrminv1.FieldOwner && entry.Operation != "Apply" {
			t.Errorf("the operator wrote the StyrminDeployment by %s", entry.Operation)
		}
	}
	// Apply leaves an item that someone added to a list.
	eventually(t, "adding a port", func() error {
		service := &corev1.Service{}
		f.exists(service, f.target, "web")
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "extra", Port: 81})
		return f.client.Update(t.Context(), service)
	})
	eventually(t, "the port to go", func() error {
		service := &corev1.Service{}
		if f.exists(service, f.target, "web"); len(service.Spec.Ports) != 1 {
			return errText("it is still there")
		}
		return nil
	})
	f.delete()
	f.waitGone()
	others := 0
	for _, r := range w.writes(f.key.Namespace, f.target) {
		if r.verb != "patch" && r.verb != "delete" {
			t.Errorf("the operator wrote by %s", r)
		}
		if r.verb == "patch" && !r.applies {
			others++
			if !strings.Contains(string(r.body), `"resourceVersion":"`) {
				t.Errorf("%s is for no version of the object: %s", r, r.body)
			}
		}
		if r.verb == "delete" && !anyUID.Match(r.body) { // Its body is JSON or protobuf.
			t.Errorf("%s is for no object of one identity: %s", r, r.body)
		}
	}
	if others == 0 {
		t.Error("the test saw no other patch than an apply")
	}
}

// TestO8MessagesFit: whatever is said, the status can be stored and reported.
func TestO8MessagesFit(t *testing.T) {
	long := ""
	for range 200 {
		long += "ten bytes "
	}
	for name, tc := range map[string]struct{ in, want string }{
		"short":                            {"fine", "fine"},
		"NUL and bytes that are no UTF-8":  {"bo\x00om\xff", "boom\uFFFD"},
		"long":                             {long, long[:1021] + "…"},
		"cut on the boundary of character": {long[:1019] + "世世世", long[:1019] + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			got := cut(tc.in)
			if got != tc.want || len(got) > maxMessage {
				t.Errorf("cut to %d bytes, ending in %q; want %d, ending in %q",
					len(got), got[max(0, len(got)-20):], len(tc.want), tc.want[max(0, len(tc.want)-20):])
			}
		})
	}
}
