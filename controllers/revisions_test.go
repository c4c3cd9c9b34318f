// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// replicaSet creates a ReplicaSet of the fixture's Deployment "server", of a
// revision of its template.
func (f *fixture) replicaSet(number, hash string) *appsv1.ReplicaSet {
	f.t.Helper()
	server, controller := &appsv1.Deployment{}, true
	if !f.exists(server, f.target, "server") {
		f.t.Fatal("the Deployment is not there")
	}
	template := server.Spec.Template.DeepCopy()
	template.Labels = with(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.target, Name: "server-" + hash, Labels: template.Labels,
			Annotations: map[string]string{annotationRevision: number},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: kindDeployment, Name: "server", UID: server.UID, Controller: &controller,
			}},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: *template},
	}
	if err := f.client.Create(f.t.Context(), set); err != nil {
		f.t.Fatal(err)
	}
	return set
}

// podOf creates a pod of a ReplicaSet.
func (f *fixture) podOf(set *appsv1.ReplicaSet, healthy bool) *corev1.Pod {
	f.t.Helper()
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.target, GenerateName: set.Name + "-", Labels: set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: kindReplicaSet, Name: set.Name, UID: set.UID, Controller: &controller,
			}},
		},
		Spec: set.Spec.Template.Spec,
	}
	f.createWithStatus(pod, func() { pod.Status = podStatus(pod, healthy) })
	return pod
}

// TestO4ABrokenRevisionStaysTheNewest: a pod of the revision before that is made
// anew, as after its node's end, is younger than those that fail. The numbers of
// the ReplicaSets, compared as numbers, tell which revision the spec is.
func TestO4ABrokenRevisionStaysTheNewest(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	before, newest := f.replicaSet("9", "aaaa"), f.replicaSet("10", "bbbb")
	broken := f.podOf(newest, false)
	// The API server tells times in whole seconds.
	for again := f.podOf(before, true); !broken.CreationTimestamp.Before(&again.CreationTimestamp); again = f.podOf(before, true) {
		if err := f.client.Delete(t.Context(), again); err != nil {
			t.Fatal(err)
		}
	}
	f.touch(&appsv1.Deployment{}, f.target, "server")
	d = f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateError)
	if !strings.Contains(d.Status.Message, broken.Name) {
		t.Errorf("message = %q, want the pod %s in it", d.Status.Message, broken.Name)
	}
}
