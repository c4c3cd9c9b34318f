// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/styrmin/styrmin/test/system"
)

// overlay builds a folder below config.
func overlay(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("KUBEBUILDER_ASSETS is not set: run make test")
	}
	objects, err := system.LoadOverlay(t.Context(), filepath.Join(repository, "config", name))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// made builds what make deploy (part agent) and make deploy-server (part server)
// apply with these variables.
func made(t *testing.T, part string, variables ...string) []*unstructured.Unstructured {
	t.Helper()
	overlays := t.TempDir()
	write := exec.CommandContext(t.Context(), filepath.Join(repository, "hack/overlay.sh"), part)
	write.Env = append(os.Environ(), "OVERLAYS="+overlays, "IMG=registry.example:5000/styrmin@sha256:0123", "SERVER_ADDRESS=", "PRIVATE_CA=no", "DATABASE=sqlite", "TLS=no")
	write.Env = append(write.Env, variables...)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("hack/overlay.sh %s: %v\n%s", part, err, out)
	}
	objects, err := system.LoadOverlay(t.Context(), filepath.Join(overlays, part))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// decoded reads the objects of a kind.
func decoded[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []T {
	t.Helper()
	var all []T
	for _, object := range objects {
		if object.GetKind() != kind {
			continue
		}
		var one T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// deploying are the overlays that have a Deployment of ours.
func deploying(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	all := overlays(t)
	maps.DeleteFunc(all, func(_ string, objects []*unstructured.Unstructured) bool {
		return len(decoded[appsv1.Deployment](t, objects, "Deployment")) == 0
	})
	return all
}

// TestManifestsGiveFlagsThatExist compares the arguments and the environment of
// each container with what its program's --help tells.
func TestManifestsGiveFlagsThatExist(t *testing.T) {
	for name, objects := range deploying(t) {
		for _, deployment := range decoded[appsv1.Deployment](t, objects, "Deployment") {
			t.Run(name+", "+deployment.Name, func(t *testing.T) {
				container := deployment.Spec.Template.Spec.Containers[0]
				help, err := exec.CommandContext(t.Context(), filepath.Join(image(t), container.Command[0]), "--help").CombinedOutput()
				if err != nil {
					t.Fatalf("%s --help: %v\n%s", container.Command[0], err, help)
				}
				given := make([]string, 0, len(container.Args)+len(container.Env))
				for _, arg := range container.Args {
					flag, _, _ := strings.Cut(arg, "=")
					given = append(given, strings.TrimLeft(flag, "-"))
				}
				for _, variable := range container.Env {
					flag, ours := strings.CutPrefix(variable.Name, "STYRMIN_")
					if !ours {
						t.Errorf("the variable %s is of no flag", variable.Name)
					}
					given = append(given, strings.ToLower(strings.ReplaceAll(flag, "_", "-")))
				}
				for _, flag := range given {
					if !regexp.MustCompile(`(?m)^ +--?` + regexp.QuoteMeta(flag) + `\b`).Match(help) {
						t.Errorf("%s has no flag --%s", container.Command[0], flag)
					}
				}
			})
		}
	}
}

// TestManifestsAgreeOnPorts: each probe and each Service leads to a port of the
// container, and the program is told to listen there.
func TestManifestsAgreeOnPorts(t *testing.T) {
	for name, objects := range deploying(t) {
		t.Run(name, func(t *testing.T) {
			for _, deployment := range decoded[appsv1.Deployment](t, objects, "Deployment") {
				container := deployment.Spec.Template.Spec.Containers[0]
				for _, port := range container.Ports {
					listening := regexp.MustCompile(`^--[a-z-]+=:` + strconv.Itoa(int(port.ContainerPort)) + `$`)
					if !slices.ContainsFunc(container.Args, listening.MatchString) {
						t.Errorf("no argument of %s makes it listen on %s, %d", deployment.Name, port.Name, port.ContainerPort)
					}
				}
				for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
					wantPort(t, container, probe.HTTPGet.Port, "a probe of "+deployment.Name)
				}
				for _, service := range decoded[corev1.Service](t, objects, "Service") {
					for _, port := range service.Spec.Ports {
						wantPort(t, container, port.TargetPort, "Service "+service.Name)
					}
				}
			}
		})
	}
}

func wantPort(t *testing.T, container corev1.Container, port intstr.IntOrString, who string) {
	t.Helper()
	if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.String() }) {
		t.Errorf("%s leads to port %s, which container %s has not", who, port.String(), container.Name)
	}
}

// TestMonitorsFindTheirServices: each ServiceMonitor selects a Service with the
// port that it names, in its own namespace.
func TestMonitorsFindTheirServices(t *testing.T) {
	services := decoded[corev1.Service](t, slices.Concat(overlay(t, "default"), overlay(t, "server")), "Service")
	for _, object := range monitoring(t) {
		if object.GetKind() != "ServiceMonitor" {
			continue
		}
		labels, _, _ := unstructured.NestedStringMap(object.Object, "spec", "selector", "matchLabels")
		endpoints, _, _ := unstructured.NestedSlice(object.Object, "spec", "endpoints")
		if len(endpoints) == 0 {
			t.Errorf("%s scrapes nothing", object.GetName())
		}
		for _, endpoint := range endpoints {
			port := endpoint.(map[string]any)["port"]
			if !slices.ContainsFunc(services, func(s corev1.Service) bool {
				for key, value := range labels {
					if s.Labels[key] != value {
						return false
					}
				}
				return s.Namespace == object.GetNamespace() &&
					slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == port })
			}) {
				t.Errorf("%s finds no Service with a port %v", object.GetName(), port)
			}
		}
	}
}
