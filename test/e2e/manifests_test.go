// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/test/system"
)

// agentNamespace is where the agent is installed.
const agentNamespace = "styrmin-system"

// makeTimeout is how long a target may take: kubectl delete waits for finalizers
// for ever.
const makeTimeout = 3 * time.Minute

// runMake runs a target of the Makefile against the local cluster.
func runMake(t *testing.T, target string, variables ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), makeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "make", append(variables, target, "KUBECTL="+system.Kubectl()+" --kubeconfig "+sys.Kubeconfig)...)
	command.Dir = "../.."
	// What it runs has to end with it, or holds its output open.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v\n%s", target, errors.Join(err, ctx.Err()), out)
	}
}

// TestManifestsInstallAndUninstall installs the agent and removes it as
// docs/install.md says, with the manager's program run here in the place of its
// pods, and compares all objects of the cluster with what the document promises.
func TestManifestsInstallAndUninstall(t *testing.T) {
	// The manager still runs: another test may have left deployments, which only it
	// can remove. Without its rights it need not end cleanly afterwards.
	runMake(t, "undeploy", "DEPLOYMENTS=delete")
	sys.ManagerProcess().Kill()
	eventually(t, time.Minute, "the agent's namespace is gone", func(ctx context.Context) error {
		err := sys.Client.Get(ctx, client.ObjectKey{Name: agentNamespace}, &corev1.Namespace{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("want it gone, got %w", err)
		}
		return nil
	})
	t.Cleanup(func() { // For the tests after this one.
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(sys.Install(ctx), sys.StartManager(ctx)); err != nil {
			t.Fatal(err)
		}
	})
	if err := sys.Apply(t.Context(), overlay(t, "samples")[0]); err != nil { // The namespace of the sample.
		t.Fatal(err)
	}
	before, err := takeInventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	t.Run("make deploy installs an agent that works", func(t *testing.T) {
		deploy(t)
		applySample(t)
		eventually(t, 3*time.Minute, "the sample runs", runsNewest)
	})
	if t.Failed() {
		return
	}
	t.Run("make undeploy removes the agent and nothing else", func(t *testing.T) {
		installed, err := takeInventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		runMake(t, "undeploy")
		sys.ManagerProcess().Kill()
		ours := map[string]bool{}
		for _, object := range overlay(t, "agent") {
			ours[keyOf(object)] = true
		}
		eventually(t, time.Minute, "all of the agent's objects are gone, and no others", func(ctx context.Context) error {
			now, err := takeInventory(ctx)
			if err != nil {
				return err // The kinds that were removed are listed for a moment.
			}
			return onlyTheAgentIsGone(installed, now, ours)
		})
	})
	t.Run("make deploy goes on where the agent was", func(t *testing.T) {
		uids := deploymentUIDs(t)
		deploy(t)
		change(t, `[{"op": "replace", "path": "/spec/components/0/replicas", "value": 2}]`)
		eventually(t, 3*time.Minute, "the sample runs in its new size", all(runsNewest, hasHealthyPods("server", 2)))
		if now := deploymentUIDs(t); !slices.Equal(now, uids) {
			t.Errorf("the StyrminDeployments were %v, now they are %v", uids, now)
		}
	})
	t.Run("make undeploy DEPLOYMENTS=delete leaves nothing", func(t *testing.T) {
		runMake(t, "undeploy", "DEPLOYMENTS=delete")
		sys.ManagerProcess().Kill()
		eventually(t, 2*time.Minute, "the cluster is as before", func(ctx context.Context) error {
			now, err := takeInventory(ctx)
			if err != nil {
				return err
			}
			return sameObjects(before, now)
		})
	})
}

// deploy installs the agent, waits for its simulated pods, and runs the manager
// with what their pods would have.
func deploy(t *testing.T) {
	t.Helper()
	runMake(t, "deploy", "IMG=registry.example/styrmin:e2e", "SERVER_ADDRESS="+sys.ServerURL, "OVERLAYS="+t.TempDir())
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: agentNamespace, Name: "styrmin-agent-token"},
		StringData: map[string]string{"token": "is in a file"},
	}
	if err := client.IgnoreAlreadyExists(sys.Client.Create(t.Context(), secret)); err != nil {
		t.Fatal(err)
	}
	manager := &appsv1.Deployment{}
	eventually(t, time.Minute, "the manager's pods were made", func(ctx context.Context) error {
		if err := sys.Client.Get(ctx, client.ObjectKey{Namespace: agentNamespace, Name: "styrmin-manager"}, manager); err != nil {
			return err
		}
		if manager.Status.ReadyReplicas != 2 {
			return fmt.Errorf("want 2 replicas, got status %+v", manager.Status)
		}
		return nil
	})
	if image := manager.Spec.Template.Spec.Containers[0].Image; image != "registry.example/styrmin:e2e" {
		t.Errorf("the manager's image is %s", image)
	}
	if err := sys.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// deploymentUIDs are the UIDs of all StyrminDeployments.
func deploymentUIDs(t *testing.T) []string {
	t.Helper()
	list := &styrminv1.StyrminDeploymentList{}
	if err := sys.Client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	uids := make([]string, len(list.Items))
	for i := range list.Items {
		uids[i] = string(list.Items[i].UID)
	}
	if len(uids) == 0 {
		t.Fatal("no StyrminDeployments are left")
	}
	return uids
}
