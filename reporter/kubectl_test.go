// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubectlRow is what kubectl prints of a pod.
type kubectlRow struct {
	Ready, Status string
	Restarts      int
}

// TestP8TheStatusWordIsKubectls compares what we tell of pods with the table
// that the API server makes for kubectl of the same pods.
func TestP8TheStatusWordIsKubectls(t *testing.T) {
	config := sharedConfig(t)
	c := testClient(t, config)
	cases := statusCases()
	if len(cases) < 150 {
		t.Fatalf("There are %d cases, want at least 150", len(cases))
	}
	namespace := createNamespace(t, c, "kubectl-table")
	sentences := slices.Sorted(maps.Keys(cases))
	names := map[string]string{}
	for i, sentence := range sentences {
		name := fmt.Sprintf("pod-%03d", i)
		names[name] = sentence
		createCase(t, c, namespace, name, cases[sentence])
	}

	pods := &corev1.PodList{}
	if err := c.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	want := kubectlTable(t, config, namespace)
	compared := 0
	for i := range pods.Items {
		pod := &pods.Items[i]
		t.Run(names[pod.Name], func(t *testing.T) {
			row := podRow(pod, "")
			got := kubectlRow{fmt.Sprintf("%d/%d", row.ReadyContainers, row.TotalContainers), row.Status, row.Restarts}
			if diff := cmp.Diff(want[pod.Name], got); diff != "" {
				t.Errorf("row (-kubectl +ours):\n%s", diff)
			}
			compared++
		})
	}
	if compared != len(cases) {
		t.Errorf("%d pods were compared, want %d", compared, len(cases))
	}
}

// TestP7TheTransformKeepsWhatIsReported makes sure that a row is the same
// whether its pod has passed the transform or not.
func TestP7TheTransformKeepsWhatIsReported(t *testing.T) {
	for sentence, tc := range statusCases() {
		t.Run(sentence, func(t *testing.T) {
			pod := testPod("prod-shop", "shop-0", func(p *corev1.Pod) {
				p.Spec, p.Status = tc.spec, tc.status
				if tc.deleted {
					p.DeletionTimestamp = ptr.To(metav1.NewTime(testStart))
					p.DeletionGracePeriodSeconds = ptr.To[int64](30)
				}
			})
			want := podRow(pod, "server")
			transformed, err := podTransform(pod.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, podRow(transformed.(*corev1.Pod), "server")); diff != "" {
				t.Errorf("row (-of the pod +of the transformed pod):\n%s", diff)
			}
		})
	}
}

// createNamespace creates a namespace of the test's own, whose name begins like
// this, and returns its name.
func createNamespace(t *testing.T, c client.Client, prefix string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func createCase(t *testing.T, c client.Client, namespace, name string, tc statusCase) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: *tc.spec.DeepCopy()}
	if tc.deleted {
		pod.Finalizers = []string{"example.com/hold"}
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatalf("creating %q: %v", name, err)
	}
	if tc.debugged {
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: "debugger", Image: "debug:1", ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
			},
		}}
		if err := c.SubResource("ephemeralcontainers").Update(t.Context(), pod); err != nil {
			t.Fatalf("debugging %q: %v", name, err)
		}
	}
	pod.Status = *tc.status.DeepCopy()
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatalf("writing the status of %q: %v", name, err)
	}
	if tc.deleted {
		if err := c.Delete(t.Context(), pod); err != nil {
			t.Fatalf("deleting %q: %v", name, err)
		}
	}
}

// kubectlTable asks the API server for what kubectl get pods prints.
func kubectlTable(t *testing.T, config *rest.Config, namespace string) map[string]kubectlRow {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := clientset.CoreV1().RESTClient().Get().Resource("pods").Namespace(namespace).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, definition := range table.ColumnDefinitions {
		column[definition.Name] = i
	}
	rows := map[string]kubectlRow{}
	for _, row := range table.Rows {
		cell := func(name string) string { return fmt.Sprint(row.Cells[column[name]]) }
		restarts, err := strconv.Atoi(strings.Fields(cell("Restarts"))[0])
		if err != nil {
			t.Fatal(err)
		}
		rows[cell("Name")] = kubectlRow{cell("Ready"), cell("Status"), restarts}
	}
	return rows
}
