// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestKilledClusterLeavesNoChildAndFinishesItsWorkNextTime kills the whole program in the middle of an installation.
func TestKilledClusterLeavesNoChildAndFinishesItsWorkNextTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := up(t, dir)
	children := processesOf(t, dir)
	if len(children) < 6 {
		t.Fatalf("processes of the cluster: %v, want etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok and the HelmRelease controller", children)
	}
	firstClient := first.client(t)
	installShop(t, first, `{"server":{"image":"registry.example/shop-server-slow:2.4.1"}}`)
	within(t, eventually, func() string {
		var releases corev1.SecretList
		err := firstClient.List(t.Context(), &releases, client.InNamespace("shop"), client.MatchingLabels{"status": "pending-install"})
		if err != nil || len(releases.Items) == 0 {
			return fmt.Sprintf("the installation has not begun (%v)", err)
		}
		return ""
	})
	if err := first.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	within(t, endLimit, func() string {
		if left := processesOf(t, dir); len(left) > 0 {
			return fmt.Sprintf("processes left: %v", left)
		}
		return ""
	})

	second := up(t, dir)
	awaitShop(t, second.client(t), helmv2.UpgradeSucceededReason)
	if latest := shop(t, second.client(t)).Status.History.Latest(); latest.Version != 2 {
		t.Errorf("release version after the unlocking = %d, want 2", latest.Version)
	}
	second.stop(t)
}

func TestSecondUpFindsTheObjectsOfTheFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := up(t, dir)
	installShop(t, first, `{"server":{"replicas":2},"preInstallHook":{"enabled":true}}`)
	awaitShop(t, first.client(t), helmv2.InstallSucceededReason)
	first.stop(t)
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}

	second := up(t, dir)
	c := second.client(t)
	if got := shop(t, c).Status.History.Latest(); got == nil || got.ChartVersion != "2.4.1" {
		t.Errorf("newest release after a restart = %+v, want chart version 2.4.1", got)
	}
	// The charts are at another address now, as with any restart on port 0; the pods are simulated on.
	hr := shop(t, c)
	if err := c.Delete(t.Context(), &hr); err != nil {
		t.Fatal(err)
	}
	within(t, eventually, func() string {
		var pods corev1.PodList
		if err := c.List(t.Context(), &pods, client.InNamespace(hr.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "server"}); err != nil {
			return err.Error()
		}
		if len(pods.Items) > 0 {
			return fmt.Sprintf("%d server pods left", len(pods.Items))
		}
		return ""
	})
	second.stop(t)
}

func TestTwoClustersRunSideBySide(t *testing.T) {
	t.Parallel()
	one, other := up(t, t.TempDir()), up(t, t.TempDir())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "only-here"}}
	if err := one.client(t).Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	err := other.client(t).Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace)
	if !apierrors.IsNotFound(err) {
		t.Errorf("namespace of the one cluster in the other: %v, want not found", err)
	}
	if out, err := program(t.Context(), "up", "--dir", one.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "a cluster runs in this folder") {
		t.Errorf("second up in a folder in use: %v, %s", err, out)
	}
	if out, err := program(t.Context(), "clean", "--dir", one.dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "a cluster runs in this folder") {
		t.Errorf("clean of a folder in use: %v, %s", err, out)
	}
	one.stop(t)
	if out, err := program(t.Context(), "clean", "--dir", one.dir).CombinedOutput(); err != nil {
		t.Errorf("clean of a stopped cluster: %v, %s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(one.dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left after clean: %v (%v)", left, err)
	}
	other.stop(t)
}

func TestDeathOfAChildEndsTheClusterAndNamesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := up(t, dir)
	for id, commandLine := range processesOf(t, dir) {
		if strings.Contains(commandLine, "--node-lease-duration-seconds") {
			pid, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.awaitEnd(t, endLimit)
	if code := l.command.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code = %d, want 1", code)
	}
	if want := "kwok ended unexpectedly (signal: killed), see its log: " + filepath.Join(dir, "logs", "kwok.log"); !strings.Contains(l.stderr.String(), want) {
		t.Errorf("stderr lacks %q", want)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

func TestInterruptedStartEndsCleanly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := launch(t, dir)
	go l.wait()
	within(t, eventually, func() string {
		if len(processesOf(t, dir)) < 2 {
			return "the control plane has not begun to start"
		}
		return ""
	})
	if err := l.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	l.awaitEnd(t, endLimit)
	if code := l.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	if left := processesOf(t, dir); len(left) > 0 {
		t.Errorf("processes left: %v", left)
	}
}

// installShop creates a HelmRelease of the sample chart, changed as the test needs it.
func installShop(t *testing.T, l *localcluster, values string, changes ...func(*helmv2.HelmRelease)) {
	t.Helper()
	c := l.client(t)
	interval := metav1.Duration{Duration: 10 * time.Minute}
	release := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"},
		Spec: helmv2.HelmReleaseSpec{
			Interval: interval,
			Timeout:  &metav1.Duration{Duration: 3 * time.Minute},
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "shop", Version: "2.4.1",
				SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: "charts"},
			}},
			Values: &apiextensionsv1.JSON{Raw: []byte(values)},
		},
	}
	for _, change := range changes {
		change(release)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
		&sourcev1.HelmRepository{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "charts"},
			Spec:       sourcev1.HelmRepositorySpec{URL: l.charts, Interval: interval},
		},
		release,
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("Create %T: %v", object, err)
		}
	}
}

func shop(t *testing.T, c client.Client) helmv2.HelmRelease {
	t.Helper()
	var hr helmv2.HelmRelease
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "shop"}, &hr); err != nil {
		t.Fatal(err)
	}
	return hr
}

// awaitShop waits until the sample is ready for the reason.
func awaitShop(t *testing.T, c client.Client, reason string) {
	t.Helper()
	within(t, eventually, func() string {
		hr := shop(t, c)
		ready := apimeta.FindStatusCondition(hr.Status.Conditions, fluxmeta.ReadyCondition)
		if ready == nil || ready.Status != metav1.ConditionTrue || ready.Reason != reason || hr.Status.ObservedGeneration != hr.Generation {
			return fmt.Sprintf("Ready is %+v", ready)
		}
		return ""
	})
}
