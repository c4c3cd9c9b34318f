// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

func TestO2SelectorsThatTellNoPodsApartAreRefused(t *testing.T) {
	labelled := styrminv1.ComponentSpec{Name: "server", Selector: metav1.LabelSelector{MatchLabels: serverLabels}}
	empty := styrminv1.ComponentSpec{Name: "all"}
	odd := styrminv1.ComponentSpec{Name: "odd", Selector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Likes"}},
	}}
	scaled := func(name string) styrminv1.ComponentSpec {
		return styrminv1.ComponentSpec{
			Name: name, ReplicasValue: "replicas", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		}
	}
	for name, tc := range map[string]struct {
		components []styrminv1.ComponentSpec
		want       string
	}{
		"labels":                      {[]styrminv1.ComponentSpec{labelled}, ""},
		"none, for an only component": {[]styrminv1.ComponentSpec{empty}, ""},
		"none, beside another one": {
			[]styrminv1.ComponentSpec{labelled, empty},
			"spec.components[1].selector: that of component all is empty and takes the pods of the others too; give it matchLabels",
		},
		"the same labels twice, of which the chart alone says how many": {
			[]styrminv1.ComponentSpec{labelled, {Name: "other", Selector: labelled.Selector}}, "",
		},
		"the same labels twice": {
			[]styrminv1.ComponentSpec{labelled, {Name: "other", ReplicasValue: "replicas", Selector: labelled.Selector}},
			"spec.components[1].selector: components server and other have the same one, and would each count the other's replicas; give each its own",
		},
		"the same replicas value twice": {
			[]styrminv1.ComponentSpec{scaled("server"), scaled("worker")},
			"spec.components[1].replicasValue: components server and worker have the same one; give each its own",
		},
		"an operator that is none": {
			[]styrminv1.ComponentSpec{labelled, odd},
			`spec.components[1].selector: the selector of component odd: "Likes" is not a valid label selector operator; correct it`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &styrminv1.StyrminDeployment{}
			d.Spec.Components = tc.components
			err := checkSelectors(d)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("error = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestO4ComponentsAreToldInEveryPhase: a rollout that is held up does not hide
// how the pods are that run on.
func TestO4ComponentsAreToldInEveryPhase(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) {
		s.Components = append(s.Components, styrminv1.ComponentSpec{Name: "odd", Selector: metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Likes"}},
		}})
	})
	got := f.waitFor("i-2", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	if want := "spec.components[1].selector"; !strings.HasPrefix(got.Status.Message, want) {
		t.Errorf("message = %q, want one of %s", got.Status.Message, want)
	}
	ready := func(want int32, state styrminv1.ComponentState) {
		t.Helper()
		eventually(t, "the component to be told as it is", func() error {
			if c := f.get().Status.Components[0]; c.Ready != want || c.State != state {
				return errText(string(c.State))
			}
			return nil
		})
	}
	ready(2, styrminv1.ComponentRunning)
	pod := &corev1.Pod{}
	f.exists(pod, f.target, f.podName())
	pod.Status = podStatus(pod, false)
	if err := f.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	ready(1, styrminv1.ComponentError)
	if err := f.client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	ready(1, styrminv1.ComponentProgressing)
}

// TestO4AnAutoscalerOfADeclaredComponentIsNamed: the two would undo each other's
// work for ever.
func TestO4AnAutoscalerOfADeclaredComponentIsNamed(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.target, Name: "by-load"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "server"},
			MaxReplicas:    9,
		},
	}
	if err := f.client.Create(t.Context(), autoscaler); err != nil {
		t.Fatal(err)
	}
	server := &appsv1.Deployment{}
	f.exists(server, f.target, "server")
	server.Spec.Replicas = ptr.To[int32](5)
	if err := f.client.Update(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the autoscaler to be named", func() error {
		got := f.get().Status.Message
		if want := "HorizontalPodAutoscaler by-load scales Deployment server too"; !strings.Contains(got, want) {
			return errText(got)
		}
		return nil
	})
	server.Spec.Replicas = ptr.To[int32](2)
	if err := f.client.Update(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	f.setStatus(server, func() { server.Status.ObservedGeneration = server.Generation })
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}
