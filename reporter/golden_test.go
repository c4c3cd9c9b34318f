// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestTheReportOnTheWire shows a whole report of a small cluster.
func TestTheReportOnTheWire(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = goldenPods()
	h.deployments.objects = []*styrminv1.StyrminDeployment{goldenDeployment(), testDeployment("new")}
	mustCycle(t, newLoop(h.reporter))
	for _, request := range h.server.received() {
		t.Run(request.OperationName, func(t *testing.T) {
			var body struct {
				Variables json.RawMessage `json:"variables"`
			}
			if err := json.Unmarshal(request.raw, &body); err != nil {
				t.Fatal(err)
			}
			checkContract(t, request.Query, body.Variables)
			var got bytes.Buffer
			if err := json.Indent(&got, body.Variables, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			compareGolden(t, filepath.Join("testdata", request.OperationName+".golden.json"), got.String())
		})
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nRun the test with -update if that is meant.", path, diff)
	}
}

func goldenPods() []*corev1.Pod {
	owned := func(p *corev1.Pod) {
		p.Labels = map[string]string{"app.kubernetes.io/component": "server"}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "shop-6d5f", Controller: ptr.To(true)}}
		p.Spec.NodeName = "node-1"
		p.Status.StartTime = ptr.To(metav1.NewTime(testStart.Add(-time.Minute)))
	}
	return []*corev1.Pod{
		testPod("prod-shop", "server-1", owned, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{sidecar("mesh"), initContainer("migrate")}
			p.Status = corev1.PodStatus{
				Phase:      corev1.PodRunning,
				StartTime:  p.Status.StartTime,
				Conditions: []corev1.PodCondition{condition(corev1.PodInitialized, corev1.ConditionTrue, ""), condition(corev1.PodReady, corev1.ConditionTrue, "")},
				InitContainerStatuses: []corev1.ContainerStatus{
					containerStatus("mesh", running(true)), containerStatus("migrate", terminated("Completed", 0, 0)),
				},
				ContainerStatuses: []corev1.ContainerStatus{containerStatus("app", running(true), restarted(2))},
			}
		}),
		testPod("prod-shop", "server-0", owned, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{containerStatus("app", waiting("ImagePullBackOff"))}
			p.Status.ContainerStatuses[0].State.Waiting.Message = `Back-off pulling image "app:1"`
		}),
		testPod("prod-shop", "server-old", owned, beingDeleted),
		testPod("kube-system", "dns", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
	}
}

func goldenDeployment() *styrminv1.StyrminDeployment {
	return testDeployment("shop", withComponents(componentOf("server", map[string]string{"app.kubernetes.io/component": "server"})),
		func(d *styrminv1.StyrminDeployment) {
			d.Spec.DeploymentID, d.Spec.InstanceID, d.Spec.Internal = "deployment-1", "instance-2", true
			d.Generation = 4
			d.Status = styrminv1.StyrminDeploymentStatus{
				InstanceID: "instance-2", ObservedGeneration: 4, Phase: styrminv1.PhaseCreatingServices,
				DisplayState: styrminv1.DisplayStateDeploying, Message: "waits for 1 of 2 pods of server",
				Conditions: []metav1.Condition{
					{Type: styrminv1.ConditionServicesReady, Status: metav1.ConditionTrue, Reason: styrminv1.ReasonSucceeded, ObservedGeneration: 4, LastTransitionTime: metav1.NewTime(testStart)},
					{Type: styrminv1.ConditionReady, Status: metav1.ConditionFalse, Reason: styrminv1.ReasonProgressing, Message: "waits", LastTransitionTime: metav1.NewTime(testStart)},
				},
				Components: []styrminv1.ComponentStatus{{Name: "server", Desired: 2, Ready: 1, State: styrminv1.ComponentProgressing}},
			}
		})
}
