// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestO7ForeignObjectsStayUntouched: each object that the operator would make is
// there already and is someone else's. That fails the right phase with a
// message that names it, changes nothing, and heals when it goes.
func TestO7ForeignObjectsStayUntouched(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	for name, tc := range map[string]struct {
		obj           client.Object
		wantCondition string
	}{
		"Namespace":     {&corev1.Namespace{}, styrminv1.ConditionPrerequisitesReady},
		"NetworkPolicy": {&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: networkPolicyName}}, styrminv1.ConditionPrerequisitesReady},
		"Secret":        {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}}, styrminv1.ConditionPrerequisitesReady},
		"HelmRepository": {&sourcev1.HelmRepository{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: sourcev1.HelmRepositorySpec{URL: "https://foreign.test"},
		}, styrminv1.ConditionPrerequisitesReady},
		"HelmRelease": {&helmv2.HelmRelease{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: helmv2.HelmReleaseSpec{
				Suspend: true, Interval: metav1.Duration{Duration: 3600e9},
				ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "HelmChart", Name: "foreign"},
			},
		}, styrminv1.ConditionHelmReleaseReady},
		"Service": {&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
		}, styrminv1.ConditionServicesReady},
		"IngressRoute": {traefikObject(&scope{}, traefikGroups[0].WithKind(ingressRouteKind), "web", map[string]any{"routes": []any{}}), styrminv1.ConditionServicesReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // Each has a namespace of its own.
			f, d := newFixture(t, newClient(t, apiServer), "shop")
			if _, ok := tc.obj.(*corev1.Namespace); ok {
				tc.obj.SetName(f.target)
			} else {
				f.makeTargetNamespace(d)
				tc.obj.SetNamespace(f.target)
			}
			if err := f.client.Create(t.Context(), tc.obj); err != nil {
				t.Fatal(err)
			}
			f.create(d)
			d = f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
			c := apimeta.FindStatusCondition(d.Status.Conditions, tc.wantCondition)
			want := fmt.Sprintf("%s %s exists and was not made by Styrmin", name, strings.Trim(client.ObjectKeyFromObject(tc.obj).String(), "/"))
			if c.Reason != styrminv1.ReasonConflict || !strings.HasPrefix(c.Message, want) {
				t.Errorf("%s = %s: %q, want Conflict: %q…", tc.wantCondition, c.Reason, c.Message, want)
			}
			now := tc.obj.DeepCopyObject().(client.Object)
			f.exists(now, tc.obj.GetNamespace(), tc.obj.GetName())
			if diff := cmp.Diff(tc.obj.GetLabels(), now.GetLabels()); diff != "" || now.GetGeneration() != tc.obj.GetGeneration() {
				t.Errorf("the foreign object was changed: %s", diff)
			}
			if err := f.client.Delete(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
			f.delete()
			f.waitGone()
		})
	}
}

// makeTargetNamespace makes the namespace as the operator would.
func (f *fixture) makeTargetNamespace(d *styrminv1.StyrminDeployment) {
	f.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:        f.target,
		Labels:      map[string]string{styrminv1.LabelDeploymentID: d.Spec.DeploymentID},
		Annotations: map[string]string{styrminv1.AnnotationOwner: f.key.String()},
	}}
	if err := f.client.Create(f.t.Context(), namespace); err != nil {
		f.t.Fatal(err)
	}
}

// TestO7TwoDeploymentsOfOneNamespace: the second one is refused, and its end
// takes nothing from the first. One that still waits when the first is deleted
// gets the name, and nothing that was the first one's.
func TestO7TwoDeploymentsOfOneNamespace(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "first")
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	for name, id := range map[string]string{"other-id": "other-" + f.key.Namespace, "same-id": d.Spec.DeploymentID} {
		t.Run(name, func(t *testing.T) {
			second := sampleDeployment(f.key.Namespace, name)
			second.Spec.TargetNamespace, second.Spec.DeploymentID = f.target, id
			g := &fixture{t: t, client: f.client, key: client.ObjectKeyFromObject(second), target: f.target}
			g.create(second)
			got := g.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
			if want := "belongs to StyrminDeployment " + f.key.String(); !strings.Contains(got.Status.Message, want) {
				t.Errorf("message = %q, want one with %q", got.Status.Message, want)
			}
			if c := got.Status.Components[0]; c.Ready != 0 || c.State != styrminv1.ComponentProgressing {
				t.Errorf("component = %+v, want none of the pods of the first one", c)
			}
			before := f.made()
			g.delete()
			g.waitGone()
			if diff := cmp.Diff(before, f.made()); diff != "" {
				t.Errorf("the end of the second one changed the first one's objects (-before +after):\n%s", diff)
			}
		})
	}
	heir := sampleDeployment(f.key.Namespace, "heir")
	heir.Spec.TargetNamespace, heir.Spec.DeploymentID = f.target, "heir-"+f.key.Namespace
	g := &fixture{t: t, client: f.client, key: client.ObjectKeyFromObject(heir), target: f.target}
	g.create(heir)
	g.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	before, after := &corev1.Namespace{}, &corev1.Namespace{}
	token, other := &corev1.Secret{}, &corev1.Secret{}
	f.exists(before, "", f.target)
	f.exists(token, f.target, "token")
	f.delete()
	f.waitGone()
	g.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.exists(after, "", f.target)
	f.exists(other, f.target, "token")
	if before.UID == after.UID || string(token.Data["token"]) == string(other.Data["token"]) {
		t.Error("the heir got the first one's own namespace or secret")
	}
}

func TestO7Owns(t *testing.T) {
	d := &styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: "styrmin", Name: "shop", UID: "uid"}}
	for name, tc := range map[string]struct {
		labels, annotations map[string]string
		want                bool
	}{
		"its id and its name":           {map[string]string{styrminv1.LabelDeploymentID: "uid"}, map[string]string{styrminv1.AnnotationOwner: "styrmin/shop"}, true},
		"its id, and no one's name":     {map[string]string{styrminv1.LabelDeploymentID: "uid"}, nil, true},
		"its id and another's name":     {map[string]string{styrminv1.LabelDeploymentID: "uid"}, map[string]string{styrminv1.AnnotationOwner: "styrmin/other"}, false},
		"its name alone":                {nil, map[string]string{styrminv1.AnnotationOwner: "styrmin/shop"}, false},
		"another id":                    {map[string]string{styrminv1.LabelDeploymentID: "other"}, nil, false},
		"nothing that says whose it is": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations}}
			if got := newScope(d, noon).owns(obj); got != tc.want {
				t.Errorf("owns = %v, want %v", got, tc.want)
			}
		})
	}
}
