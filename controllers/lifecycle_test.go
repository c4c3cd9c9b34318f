// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// fixture is one StyrminDeployment under test, in a namespace of its own.
type fixture struct {
	t      testing.TB
	client client.Client
	key    client.ObjectKey
	target string
}

// newFixture makes a namespace for a StyrminDeployment and returns both; the
// object is not made yet.
func newFixture(t testing.TB, c client.Client, name string) (*fixture, *styrminv1.StyrminDeployment) {
	t.Helper()
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "home-"}}
	if err := c.Create(t.Context(), home); err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	d := sampleDeployment(home.Name, name)
	f := &fixture{t: t, client: c, key: client.ObjectKeyFromObject(d), target: d.TargetNamespace()}
	return f, d
}

// sampleDeployment has one component with a Service, a route, a network policy
// and a generated secret.
func sampleDeployment(namespace, name string) *styrminv1.StyrminDeployment {
	target := intstr.FromInt32(8080)
	return &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: styrminv1.StyrminDeploymentSpec{
			DeploymentID:    "id-of-" + namespace + "-" + name,
			InstanceID:      "i-1",
			Environment:     "test",
			TargetNamespace: "target-" + namespace + "-" + name,
			Version:         "1.0.0",
			NetworkPolicy: styrminv1.NetworkPolicySpec{
				Isolation: styrminv1.IsolationNamespace, AllowFromNamespaces: []string{"traefik"},
			},
			Secrets: []styrminv1.SecretSpec{
				{Name: "token", Generate: &styrminv1.GenerateSpec{Keys: []string{"token"}, Length: 32}},
			},
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop",
				Chart:       styrminv1.ChartSpec{Repository: "https://charts.test", Name: "shop", Version: "1.0.0"},
				Values:      &apiextensionsv1.JSON{Raw: []byte(`{"image":"registry.test/server:1"}`)},
			},
			Components: []styrminv1.ComponentSpec{{
				Name: "server", Replicas: 2, ReplicasValue: "server.replicas",
				Selector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}},
			}},
			Services: []styrminv1.ServiceSpec{{
				Name: "web", Component: "server", Port: 80, TargetPort: &target,
				HTTP: &styrminv1.HTTPSpec{Host: "shop.test", Path: "/", Middlewares: []string{"compress"}},
			}},
			Middlewares: []styrminv1.MiddlewareSpec{{
				Name: "compress", Spec: apiextensionsv1.JSON{Raw: []byte(`{"compress":{}}`)},
			}},
		},
	}
}

func (f *fixture) create(d *styrminv1.StyrminDeployment) {
	f.t.Helper()
	if err := f.client.Create(f.t.Context(), d); err != nil {
		f.t.Fatalf("creating the StyrminDeployment: %v", err)
	}
}

func (f *fixture) get() *styrminv1.StyrminDeployment {
	f.t.Helper()
	d := &styrminv1.StyrminDeployment{}
	if err := f.client.Get(f.t.Context(), f.key, d); err != nil {
		f.t.Fatalf("reading the StyrminDeployment: %v", err)
	}
	return d
}

// roll changes the spec and gives it a new instance, as a flow does.
func (f *fixture) roll(instance string, change func(*styrminv1.StyrminDeploymentSpec)) {
	f.t.Helper()
	eventually(f.t, "changing the spec", func() error {
		d := f.get()
		d.Spec.InstanceID = instance
		change(&d.Spec)
		return f.client.Update(f.t.Context(), d)
	})
}

// waitFor waits until the status is about the instance and has the phase and
// display state.
func (f *fixture) waitFor(instance string, phase styrminv1.Phase, state styrminv1.DisplayState) *styrminv1.StyrminDeployment {
	f.t.Helper()
	var d *styrminv1.StyrminDeployment
	eventually(f.t, fmt.Sprintf("%s to be %s and %s", instance, phase, state), func() error {
		d = f.get()
		s := d.Status
		if s.InstanceID != instance || s.ObservedGeneration != d.Generation || s.Phase != phase || s.DisplayState != state {
			return fmt.Errorf("it is %s: %s, %s: %s", s.InstanceID, s.Phase, s.DisplayState, s.Message)
		}
		return nil
	})
	return d
}

func (f *fixture) waitGone() {
	f.t.Helper()
	eventually(f.t, "the StyrminDeployment to be gone", func() error {
		d := &styrminv1.StyrminDeployment{}
		err := f.client.Get(f.t.Context(), f.key, d)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("it is %s: %s", d.Status.Phase, d.Status.Message), err)
	})
}

func (f *fixture) delete() {
	f.t.Helper()
	if err := f.client.Delete(f.t.Context(), f.get()); err != nil {
		f.t.Fatalf("deleting the StyrminDeployment: %v", err)
	}
}

// exists tells whether an object is there.
func (f *fixture) exists(obj client.Object, namespace, name string) bool {
	f.t.Helper()
	err := f.client.Get(f.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatalf("reading %T %s/%s: %v", obj, namespace, name, err)
	}
	return err == nil
}

// touch changes an object in a way that no one cares about but its watchers.
func (f *fixture) touch(obj client.Object, namespace, name string) {
	f.t.Helper()
	eventually(f.t, "touching "+name, func() error {
		if !f.exists(obj, namespace, name) {
			return fmt.Errorf("%T %s/%s is not there", obj, namespace, name)
		}
		return f.annotate(obj)
	})
}

// touchIfThere is touch for what may have gone by then.
func (f *fixture) touchIfThere(obj client.Object, namespace, name string) {
	f.t.Helper()
	eventually(f.t, "touching "+name, func() error {
		if !f.exists(obj, namespace, name) {
			return nil
		}
		return client.IgnoreNotFound(f.annotate(obj))
	})
}

func (f *fixture) annotate(obj client.Object) error {
	obj.SetAnnotations(with(obj.GetAnnotations(), "touched", time.Now().String()))
	return f.client.Update(f.t.Context(), obj)
}

// podName returns the name of one of the deployment's pods.
func (f *fixture) podName() string {
	f.t.Helper()
	pods := &corev1.PodList{}
	if err := f.client.List(f.t.Context(), pods, client.InNamespace(f.target)); err != nil || len(pods.Items) == 0 {
		f.t.Fatalf("finding a pod: %d pods, %v", len(pods.Items), err)
	}
	return pods.Items[0].Name
}

// made lists what is in the target namespace and carries the deployment's id, as
// "<kind> <name>".
func (f *fixture) made() []string {
	f.t.Helper()
	var out []string
	for _, list := range []client.ObjectList{
		&corev1.ServiceList{}, &corev1.SecretList{}, &networkingv1.NetworkPolicyList{},
		&helmv2.HelmReleaseList{}, &sourcev1.HelmRepositoryList{},
		unstructuredList(traefikGroups[0].WithKind(ingressRouteKind)), unstructuredList(traefikGroups[0].WithKind(middlewareKind)),
	} {
		err := f.client.List(f.t.Context(), list, client.InNamespace(f.target), client.HasLabels{styrminv1.LabelDeploymentID})
		if err != nil {
			f.t.Fatalf("listing %T: %v", list, err)
		}
		err = apimeta.EachListItem(list, func(item runtime.Object) error {
			obj, ok := item.(client.Object)
			if ok && obj.GetDeletionTimestamp().IsZero() {
				out = append(out, kindOf(obj, scheme)+" "+obj.GetName())
			}
			return nil
		})
		if err != nil {
			f.t.Fatalf("reading %T: %v", list, err)
		}
	}
	slices.Sort(out)
	return out
}

func TestO2LifeOfADeployment(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	sim := simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")

	f.create(d)
	d = f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	for _, conditionType := range conditionTypes {
		if !apimeta.IsStatusConditionTrue(d.Status.Conditions, conditionType) {
			t.Errorf("condition %s is not True when Ready", conditionType)
		}
	}
	want := []string{
		"HelmRelease shop", "HelmRepository shop", "IngressRoute web", "Middleware compress",
		"NetworkPolicy styrmin-isolation", "Secret token", "Service web",
	}
	if diff := cmp.Diff(want, f.made()); diff != "" {
		t.Errorf("objects of the target namespace differ (-want +got):\n%s", diff)
	}

	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) { s.Components[0].Replicas = 3 })
	d = f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	if c := d.Status.Components[0]; c.Ready != 3 || c.State != styrminv1.ComponentRunning {
		t.Errorf("scaled component = %+v, want 3 ready and Running", c)
	}

	f.roll("i-3", func(s *styrminv1.StyrminDeploymentSpec) {
		s.HelmRelease.Values.Raw = []byte(`{"image":"` + badImage + `"}`)
	})
	d = f.waitFor("i-3", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	if !strings.Contains(d.Status.Message, "Helm install failed") {
		t.Errorf("message of the broken image = %q, want Helm's", d.Status.Message)
	}

	f.roll("i-4", func(s *styrminv1.StyrminDeploymentSpec) {
		s.HelmRelease.Values.Raw = []byte(`{"image":"registry.test/server:2"}`)
	})
	f.waitFor("i-4", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)

	f.delete()
	f.waitGone()
	if !sim.is(sim.uninstalled, f.target) {
		t.Error("the release was not uninstalled")
	}
	if left := f.made(); len(left) > 0 {
		t.Errorf("the deletion left %v", left)
	}
	if f.exists(&corev1.Namespace{}, "", f.target) {
		t.Error("the deletion left the namespace")
	}
}
