// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/test/system"
)

// TestManifestsAreAccepted asks the API server, with strict field validation and
// without storing anything, for all manifests that people build from config; and
// for the pods of their Deployments, which the restricted pod security level of
// their namespaces may refuse.
func TestManifestsAreAccepted(t *testing.T) {
	for _, overlay := range []string{"default", "server", "server-postgres", "network-policy"} {
		t.Run(overlay, func(t *testing.T) {
			for _, object := range kustomize(t, "../../config/"+overlay) {
				if object.GetKind() == "Namespace" || object.GetKind() == "ServiceAccount" {
					// What needs it is refused without it, dry run or not.
					if err := sys.Apply(t.Context(), object); err != nil {
						t.Fatal(err)
					}
					continue
				}
				dry := client.NewDryRunClient(client.WithFieldValidation(sys.Client, metav1.FieldValidationStrict))
				apply := client.ApplyConfigurationFromUnstructured(object)
				if err := dry.Apply(t.Context(), apply, client.FieldOwner("test"), client.ForceOwnership); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
				if object.GetKind() == "Deployment" {
					makePodOf(t, dry, object)
				}
			}
		})
	}
}

// kustomize builds the manifests of a folder.
func kustomize(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), kubectl(), "kustomize", dir).Output()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v", dir, err)
	}
	file := filepath.Join(t.TempDir(), "built.yaml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := system.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// makePodOf creates a pod as the Deployment's controller would.
func makePodOf(t *testing.T, dry client.Client, object *unstructured.Unstructured) {
	t.Helper()
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &deployment); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
	pod.Namespace, pod.GenerateName = deployment.Namespace, deployment.Name+"-"
	if err := dry.Create(t.Context(), pod); err != nil {
		t.Errorf("a pod of Deployment %s: %v", deployment.Name, err)
	}
}

func kubectl() string { return filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl") }

// TestManifestsInstall installs the agent as people do, and removes it again. Its
// namespace enforces the restricted pod security level, so pods that ask for more
// would not be made.
func TestManifestsInstall(t *testing.T) {
	run := func(target string) {
		make := exec.CommandContext(t.Context(), "make", target, "KUBECTL="+kubectl()+" --kubeconfig "+sys.Kubeconfig)
		make.Dir = "../.."
		if out, err := make.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	run("deploy")
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "styrmin-system", Name: "styrmin-manager"}}
	eventually(t, time.Minute, "the manager's pods were made", func(ctx context.Context) error {
		if err := sys.Client.Get(ctx, client.ObjectKeyFromObject(manager), manager); err != nil {
			return err
		}
		if manager.Status.ReadyReplicas != 2 {
			return fmt.Errorf("want 2 replicas, got status %+v", manager.Status)
		}
		return nil
	})
	run("undeploy")
	for _, gone := range kustomize(t, "../../config/agent") {
		err := sys.Client.Get(t.Context(), client.ObjectKeyFromObject(gone), gone)
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s %s after undeploy: want it gone, got %v", gone.GetKind(), gone.GetName(), err)
		}
	}
	if err := sys.Client.List(t.Context(), &styrminv1.StyrminDeploymentList{}); err != nil {
		t.Errorf("StyrminDeployments after undeploy: %v", err)
	}
}
