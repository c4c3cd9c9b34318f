// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

func TestTheReportedInstanceIsTheOneThatTheOperatorHandled(t *testing.T) {
	type told struct {
		DeploymentID, InstanceID string
		Source                   InstanceSource
		Generation               int64
		Observed                 *int64
		Phase                    string
	}
	seven := int64(7)
	for name, tc := range map[string]struct {
		deployment *styrminv1.StyrminDeployment
		want       told
	}{
		"the operator says which": {
			deployment: testDeployment("shop", func(d *styrminv1.StyrminDeployment) {
				d.Generation, d.Spec.DeploymentID, d.Spec.InstanceID = 8, "deployment", "i-2"
				d.Status = styrminv1.StyrminDeploymentStatus{InstanceID: "i-1", ObservedGeneration: 7, Phase: styrminv1.PhaseReady}
			}),
			want: told{"deployment", "i-1", InstanceSourceStatus, 8, &seven, "Ready"},
		},
		"the operator says nothing, so the spec's is sent as such (cases D01 and H01)": {
			deployment: testDeployment("shop", func(d *styrminv1.StyrminDeployment) {
				d.Generation, d.Spec.DeploymentID, d.Spec.InstanceID = 8, "deployment", "i-2"
				d.Status = styrminv1.StyrminDeploymentStatus{ObservedGeneration: 7, Phase: styrminv1.PhaseReady}
			}),
			want: told{"deployment", "i-2", InstanceSourceSpec, 8, &seven, "Ready"},
		},
		"applied by hand, and the operator has not seen it": {
			deployment: testDeployment("shop", func(d *styrminv1.StyrminDeployment) { d.Generation = 3 }),
			want:       told{"uid-of-shop", "shop-3", InstanceSourceSpec, 3, nil, notObserved},
		},
	} {
		t.Run(name, func(t *testing.T) {
			row := deploymentRow(tc.deployment)
			got := told{row.DeploymentId, row.InstanceId, row.InstanceSource, row.Generation, row.ObservedGeneration, row.Phase}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

func withComponents(components ...styrminv1.ComponentSpec) func(*styrminv1.StyrminDeployment) {
	return func(d *styrminv1.StyrminDeployment) { d.Spec.Components = components }
}

func componentOf(name string, match map[string]string) styrminv1.ComponentSpec {
	return styrminv1.ComponentSpec{Name: name, Selector: metav1.LabelSelector{MatchLabels: match}}
}

func TestAPodsComponentIsTheOneWhoseSelectorMatches(t *testing.T) {
	server := map[string]string{"component": "server"}
	invalid := styrminv1.ComponentSpec{Name: "invalid", Selector: metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "component", Operator: "Likes"}},
	}}
	for name, tc := range map[string]struct {
		deployments []*styrminv1.StyrminDeployment
		namespace   string
		labels      map[string]string
		want        string
	}{
		"it matches in the target namespace": {
			deployments: []*styrminv1.StyrminDeployment{testDeployment("shop", withComponents(componentOf("db", map[string]string{"component": "db"}), componentOf("server", server)))},
			namespace:   "prod-shop", labels: server, want: "server",
		},
		"another namespace is another deployment's": {
			deployments: []*styrminv1.StyrminDeployment{testDeployment("shop", withComponents(componentOf("server", server)))},
			namespace:   "styrmin", labels: server,
		},
		"no selector matches": {
			deployments: []*styrminv1.StyrminDeployment{testDeployment("shop", withComponents(componentOf("server", server)))},
			namespace:   "prod-shop", labels: map[string]string{"component": "proxy"},
		},
		"an empty selector matches every pod of the namespace": {
			deployments: []*styrminv1.StyrminDeployment{testDeployment("shop", withComponents(componentOf("all", nil)))},
			namespace:   "prod-shop", want: "all",
		},
		"a selector that is not valid matches none, the others do": {
			deployments: []*styrminv1.StyrminDeployment{testDeployment("shop", withComponents(invalid, componentOf("server", server)))},
			namespace:   "prod-shop", labels: server, want: "server",
		},
		"of two that match the spec's first is taken": {
			deployments: []*styrminv1.StyrminDeployment{testDeployment("shop", withComponents(componentOf("first", server), componentOf("second", server)))},
			namespace:   "prod-shop", labels: server, want: "first",
		},
		"of two deployments the first by name is taken, whatever their order": {
			deployments: []*styrminv1.StyrminDeployment{
				testDeployment("b", withComponents(componentOf("of-b", server)), withTarget("shared")),
				testDeployment("a", withComponents(componentOf("of-a", server)), withTarget("shared")),
			},
			namespace: "shared", labels: server, want: "of-a",
		},
		"one that the operator refuses the namespace to has none of its pods": {
			deployments: []*styrminv1.StyrminDeployment{
				testDeployment("a", withComponents(componentOf("of-a", server)), withTarget("shared"), withConflict),
				testDeployment("b", withComponents(componentOf("of-b", server)), withTarget("shared")),
			},
			namespace: "shared", labels: server, want: "of-b",
		},
		"an only one that is refused something else in its namespace has its pods": {
			deployments: []*styrminv1.StyrminDeployment{
				testDeployment("a", withComponents(componentOf("of-a", server)), withTarget("shared"), withConflict),
			},
			namespace: "shared", labels: server, want: "of-a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newComponentIndex(tc.deployments).find(tc.namespace, tc.labels); got != tc.want {
				t.Errorf("component = %q, want %q", got, tc.want)
			}
		})
	}
}

// withConflict is the status of one that the operator refuses a name to (O7).
func withConflict(d *styrminv1.StyrminDeployment) {
	d.Status.Conditions = []metav1.Condition{{
		Type: styrminv1.ConditionPrerequisitesReady, Status: metav1.ConditionFalse, Reason: styrminv1.ReasonConflict,
	}}
}

func withTarget(namespace string) func(*styrminv1.StyrminDeployment) {
	return func(d *styrminv1.StyrminDeployment) { d.Spec.TargetNamespace = namespace }
}

func TestAChangedSelectorChangesTheRowsOfPodsThatDidNotChange(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-0", func(p *corev1.Pod) { p.Labels = map[string]string{"component": "server"} })}
	h.deployments.objects = []*styrminv1.StyrminDeployment{testDeployment("shop")}
	l := newLoop(h.reporter)
	component := func() string {
		mustCycle(t, l)
		return deref(h.server.storedPods()["prod-shop/uid-of-shop-0"].Component)
	}
	if got := component(); got != "" {
		t.Errorf("component = %q, want none", got)
	}
	h.deployments.objects = []*styrminv1.StyrminDeployment{testDeployment("shop",
		withComponents(componentOf("server", map[string]string{"component": "server"})),
		func(d *styrminv1.StyrminDeployment) { d.Generation = 2 },
	)}
	if got := component(); got != "server" {
		t.Errorf("component = %q, want server", got)
	}
	// Deployments that cannot be read take nothing away from the pods (P3).
	h.deployments.err = errTest
	h.pods.objects[0] = testPod("prod-shop", "shop-0", withVersion(2), withMessage("new"), func(p *corev1.Pod) {
		p.Labels = map[string]string{"component": "server"}
	})
	if got := component(); got != "server" {
		t.Errorf("component = %q, want server", got)
	}
}

func TestOnlySelectedPodsAreReported(t *testing.T) {
	labelled := func(p *corev1.Pod) { p.Labels = map[string]string{"team": "shop"} }
	for name, tc := range map[string]struct {
		selection selection
		want      bool
	}{
		"everything":                      {selection{}, true},
		"the pod's namespace":             {selection{namespaces: sets.New("prod-shop")}, true},
		"another namespace":               {selection{namespaces: sets.New("prod-blog")}, false},
		"the pod's labels":                {selection{podSelector: labels.SelectorFromSet(labels.Set{"team": "shop"})}, true},
		"other labels":                    {selection{podSelector: labels.SelectorFromSet(labels.Set{"team": "blog"})}, false},
		"the pod's labels, not namespace": {selection{podSelector: labels.Everything(), namespaces: sets.New("x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.selection.hasPod(testPod("prod-shop", "shop-0", labelled)); got != tc.want {
				t.Errorf("hasPod = %t, want %t", got, tc.want)
			}
		})
	}
}
