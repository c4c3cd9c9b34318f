// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/styrmin/styrmin/test/system"
)

// apiServer is a real API server, once a test has asked for it, with the Prometheus
// operator's custom resources and ours. TestMain stops it.
var apiServer = &envtest.Environment{
	CRDDirectoryPaths:     []string{"testdata/monitoring", filepath.Join(repository, "config/crd/bases")},
	ErrorIfCRDPathMissing: true,
	CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: time.Minute},
}

// startAPIServer starts the API server once and returns a client with all rights.
var startAPIServer = sync.OnceValues(func() (client.Client, error) {
	config, err := apiServer.Start()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{})
})

// cluster is a client of the API server with all rights.
func cluster(t *testing.T) client.Client {
	t.Helper()
	c, err := startAPIServer()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// apply writes an object as kubectl apply --server-side does, and leaves it as it is
// here.
func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("test"), client.ForceOwnership)
}

// parts are the folders below config that are no use on their own: config/agent
// puts them into the namespace that they lack.
var parts = map[string]bool{"manager": true, "rbac": true, "server-tls": true}

// overlays are the folders below config that people apply, and what make writes.
func overlays(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "config/*/kustomization.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no overlays: %v", err)
	}
	built := map[string][]*unstructured.Unstructured{
		"server with TLS":          made(t, "server", "TLS=yes"),
		"server-postgres with TLS": made(t, "server", "TLS=yes", "DATABASE=postgres"),
		"agent with an authority":  made(t, "agent", "SERVER_ADDRESS=https://styrmin.example", "PRIVATE_CA=yes"),
	}
	for _, file := range files {
		if name := filepath.Base(filepath.Dir(file)); !parts[name] {
			built[name] = overlay(t, name)
		}
	}
	return built
}

// TestManifestsAreAccepted asks the API server, with strict field validation and
// without storing anything, for all manifests that people build from config; and
// for the pods of their Deployments, which the restricted pod security level of
// their namespaces may refuse.
func TestManifestsAreAccepted(t *testing.T) {
	all, c := overlays(t), cluster(t)
	// What needs them is refused without them, dry run or not.
	for _, needed := range []string{"Namespace", "ServiceAccount"} {
		for _, objects := range all {
			for _, object := range objects {
				if object.GetKind() != needed {
					continue
				}
				if err := apply(t.Context(), c, object); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	dry := client.NewDryRunClient(client.WithFieldValidation(c, metav1.FieldValidationStrict))
	for name, objects := range all {
		t.Run(name, func(t *testing.T) {
			for _, object := range objects {
				if err := apply(t.Context(), dry, object); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
			for _, deployment := range decoded[appsv1.Deployment](t, objects, "Deployment") {
				wantRestricted(t, c, deployment.Namespace)
				if err := dry.Create(t.Context(), podOf(&deployment)); err != nil {
					t.Errorf("a pod of Deployment %s: %v", deployment.Name, err)
				}
			}
		})
	}
}

// TestWhatIsAppliedLaterFindsItsNamespace: server and agent may be in different
// clusters, so what is applied beside one of them is in the namespace of that one
// alone.
func TestWhatIsAppliedLaterFindsItsNamespace(t *testing.T) {
	installations := map[string]string{"network-policy": "default", "grafana": "default"}
	maps.Copy(installations, monitored)
	for folder, installation := range installations {
		known := map[string]bool{}
		for _, namespace := range decoded[corev1.Namespace](t, overlay(t, installation), "Namespace") {
			known[namespace.Name] = true
		}
		for _, object := range overlay(t, folder) {
			if !known[object.GetNamespace()] {
				t.Errorf("config/%s has %s %s in namespace %s, which config/%s does not make",
					folder, object.GetKind(), object.GetName(), object.GetNamespace(), installation)
			}
		}
	}
}

// podOf is a pod as the Deployment's controller makes it.
func podOf(deployment *appsv1.Deployment) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
	pod.Namespace, pod.GenerateName = deployment.Namespace, deployment.Name+"-"
	return pod
}

// wantRestricted shows that a namespace refuses a pod that asks for too much, so
// that taking ours says something.
func wantRestricted(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	greedy := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "greedy"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "greedy"}}},
	}
	if err := client.NewDryRunClient(c).Create(t.Context(), greedy); err == nil || !strings.Contains(err.Error(), "restricted:latest") {
		t.Errorf("namespace %s does not enforce the restricted level: %v", namespace, err)
	}
}

// TestManifestsThatAreWrongAreRefused shows that the test above can fail.
func TestManifestsThatAreWrongAreRefused(t *testing.T) {
	dry := client.NewDryRunClient(client.WithFieldValidation(cluster(t), metav1.FieldValidationStrict))
	for _, object := range monitoring(t) {
		object.SetNamespace(metav1.NamespaceDefault)
		unknown := object.DeepCopy()
		if err := unstructured.SetNestedField(unknown.Object, "value", "spec", "unknownField"); err != nil {
			t.Fatal(err)
		}
		if err := apply(t.Context(), dry, unknown); err == nil {
			t.Errorf("%s %s with an unknown field was accepted", object.GetKind(), object.GetName())
		}
	}
}

// TestTheCustomResourceGoesThroughKubectlApply: whoever upgrades with a plain
// kubectl apply, which keeps the whole object in an annotation, gets the new
// schema, over the one before.
func TestTheCustomResourceGoesThroughKubectlApply(t *testing.T) {
	c := cluster(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	user, err := apiServer.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	content, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	crd := overlay(t, "crd")[0]
	older := crd.DeepCopy()
	dropStatusField(t, older, "instanceId")
	name := client.ObjectKeyFromObject(crd)
	olderFile := writeYAML(t, t.TempDir(), "crd.yaml", older.Object)
	if err := c.Delete(t.Context(), crd.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	wantGone(t, c, crd)
	run(t, "", system.Kubectl(), "--kubeconfig", kubeconfig, "apply", "-f", olderFile)
	run(t, "", system.Kubectl(), "--kubeconfig", kubeconfig, "apply", "-k", filepath.Join(repository, "config/crd"))
	served := &unstructured.Unstructured{}
	served.SetGroupVersionKind(crd.GroupVersionKind())
	if err := c.Get(t.Context(), name, served); err != nil {
		t.Fatal(err)
	}
	if !hasStatusField(t, served, "instanceId") {
		t.Error("the field that the new version brings is not in the cluster")
	}
}

func wantGone(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopy())), nil
	})
	if err != nil {
		t.Fatalf("%s %s is not gone: %v", object.GetKind(), object.GetName(), err)
	}
}

// statusFields are the properties of the status in a CustomResourceDefinition.
func statusFields(t *testing.T, crd *unstructured.Unstructured) map[string]any {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) == 0 {
		t.Fatalf("the custom resource has no versions: %v", err)
	}
	fields, found, err := unstructured.NestedMap(versions[0].(map[string]any),
		"schema", "openAPIV3Schema", "properties", "status", "properties")
	if err != nil || !found {
		t.Fatalf("the custom resource has no status: %v", err)
	}
	return fields
}

func hasStatusField(t *testing.T, crd *unstructured.Unstructured, field string) bool {
	t.Helper()
	_, found := statusFields(t, crd)[field]
	return found
}

func dropStatusField(t *testing.T, crd *unstructured.Unstructured, field string) {
	t.Helper()
	fields := statusFields(t, crd)
	delete(fields, field)
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err := unstructured.SetNestedMap(versions[0].(map[string]any), fields,
		"schema", "openAPIV3Schema", "properties", "status", "properties"); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}
