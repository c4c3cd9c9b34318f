// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestMainPath is the life of an application: rolled out, scaled, broken, mended
// and deleted in the cluster, and read from the server at each point, while the
// server and the manager go away and come back.
func TestMainPath(t *testing.T) {
	removeAfterwards(t, &styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: sampleNamespace, Name: sampleName}})
	applySample(t)
	bystanders := makeBystanders(t)
	eventually(t, 2*time.Minute, "the sample runs, with all pods healthy",
		all(runsNewest, hasHealthyPods("server", 3), hasHealthyPods("database", 1)))
	shop, err := sys.Deployment(t.Context(), sampleName)
	if err != nil {
		t.Fatal(err)
	}
	watched := watchPage(t, shop.ID)
	watched.hasStatus("RUNNING")

	t.Run("scaling a component shows the new pods within 10 s of their being ready", func(t *testing.T) {
		change(t, `[{"op": "replace", "path": "/spec/components/0/replicas", "value": 5}]`)
		eventually(t, time.Minute, "the cluster has the new pods", clusterHasReadyPods("server", 5))
		// Two reports, and time for a machine on which the fault suite runs, too.
		eventually(t, 10*time.Second+busy, "the server knows them", hasHealthyPods("server", 5))
		eventually(t, time.Minute, "the sample runs again", runsNewest)
	})

	t.Run("the server away for a minute: the manager goes on by itself and nothing is lost", func(t *testing.T) {
		manager := sys.ManagerProcess().Pid()
		sys.ServerProcess().Kill()
		change(t, `[{"op": "replace", "path": "/spec/components/0/replicas", "value": 3}]`)
		eventually(t, time.Minute, "the cluster has fewer pods", clusterHasReadyPods("server", 3))
		eventually(t, 2*time.Minute, "the manager says that it cannot report, after a minute (P9)", func(ctx context.Context) error {
			if sys.ManagerReady(ctx) == nil {
				return errors.New("it is ready still")
			}
			return nil
		})
		watched.shows("Server unreachable")
		if err := sys.StartServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		// What was known before is there at once, and the present soon.
		if err := hasRows(t.Context(), 4); err != nil {
			t.Error(err)
		}
		eventually(t, time.Minute, "the server knows the present", all(hasHealthyPods("server", 3), runsNewest, sys.ManagerReady))
		if now := sys.ManagerProcess().Pid(); now != manager {
			t.Errorf("the manager was restarted: pid %d, before %d", now, manager)
		}
		watched.showsNot("Server unreachable")
	})

	t.Run("the manager killed: the last state stays, and a new one deletes nothing", func(t *testing.T) {
		sys.ManagerProcess().Kill()
		watching, stop := context.WithCancel(t.Context())
		dropped := make(chan error, 1)
		go func() { dropped <- watchRows(watching, 4) }()
		if err := sys.StartManager(t.Context()); err != nil {
			t.Fatal(err)
		}
		since, err := sys.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, time.Minute, "the new manager has reported several times", func(ctx context.Context) error {
			last, err := sys.LastReport(ctx)
			if err == nil && last.Sub(since) < 10*time.Second {
				err = fmt.Errorf("last report %s, at first %s", last, since)
			}
			return err
		})
		stop()
		if err := <-dropped; err != nil {
			t.Error(err)
		}
		if err := runsNewest(t.Context()); err != nil {
			t.Error(err)
		}
	})

	t.Run("a broken image shows the pods' reason and the deployment as FAILED", func(t *testing.T) {
		setImage(t, "registry.example/does-not-exist:1")
		eventually(t, 2*time.Minute, "the deployment is FAILED", all(hasStatus("FAILED"), hasPodWithReason("ErrImagePull", "ImagePullBackOff")))
		watched.hasStatus("FAILED")
		watched.shows("does-not-exist")
	})

	t.Run("mending the image shows RUNNING again", func(t *testing.T) {
		setImage(t, "registry.example/shop-server:2.4.2")
		eventually(t, 3*time.Minute, "the deployment runs again", all(runsNewest, hasHealthyPods("server", 3)))
		watched.hasStatus("RUNNING")
		watched.showsNot("does-not-exist")
	})

	t.Run("deleting removes every row and every object, and nothing else", func(t *testing.T) {
		deployment := &styrminv1.StyrminDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: sampleNamespace, Name: sampleName}}
		if err := sys.Client.Delete(t.Context(), deployment); err != nil {
			t.Fatal(err)
		}
		eventually(t, 2*time.Minute, "nothing is left", all(hasNothingLeft, hasNoRows))
		watched.hasStatus("DELETED")
		for _, object := range bystanders {
			if err := sys.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Errorf("what the operator did not make is gone: %v", err)
			}
		}
	})
}

// makeBystanders makes what the operator must leave alone, until the test ends: a
// Secret beside the StyrminDeployment with the name of one of its own, and a
// namespace whose name begins like its target's, with such a Secret too.
func makeBystanders(t *testing.T) []client.Object {
	t.Helper()
	neighbour := targetNamespace + "-neighbour"
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: neighbour}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: neighbour, Name: "shop-token"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: sampleNamespace, Name: "shop-token"}},
	}
	for _, object := range objects {
		if err := sys.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		removeAfterwards(t, object)
	}
	return objects
}

// hasRows checks that the server has the sample's row, and that many of its pods
// or more.
func hasRows(ctx context.Context, wantPods int) error {
	pods, err := sys.Pods(ctx, targetNamespace)
	if err != nil {
		return err
	}
	if len(pods) < wantPods {
		return fmt.Errorf("the server knows %d pods, want %d or more", len(pods), wantPods)
	}
	deployment, err := sys.Deployment(ctx, sampleName)
	if err != nil {
		return err
	}
	if deployment == nil || deployment.Observed == nil {
		return fmt.Errorf("the server lost the sample's row: %+v", deployment)
	}
	return nil
}

// watchRows asks for the sample's rows until ctx ends, and returns an error when
// any were ever missing.
func watchRows(ctx context.Context, wantPods int) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := hasRows(ctx, wantPods)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func hasPodWithReason(reasons ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		pods, err := sys.Pods(ctx, targetNamespace)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			for _, container := range pod.Containers {
				for _, reason := range reasons {
					if container.Reason == reason && pod.Status == reason {
						return nil
					}
				}
			}
		}
		return fmt.Errorf("no pod with one of %v in %+v", reasons, pods)
	}
}

// hasNothingLeft checks the cluster after the deletion.
func hasNothingLeft(ctx context.Context) error {
	helmRelease := &unstructured.Unstructured{}
	helmRelease.SetGroupVersionKind(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind))
	for key, object := range map[client.ObjectKey]client.Object{
		{Namespace: sampleNamespace, Name: sampleName}: &styrminv1.StyrminDeployment{},
		{Namespace: targetNamespace, Name: "shop"}:     helmRelease,
		{Namespace: targetNamespace, Name: "web"}:      &corev1.Service{},
		{Name: targetNamespace}:                        &corev1.Namespace{},
	} {
		err := sys.Client.Get(ctx, key, object)
		if err == nil {
			return fmt.Errorf("%T %s is still there", object, key)
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// hasNoRows checks the server after the deletion.
func hasNoRows(ctx context.Context) error {
	answer := struct {
		PodStatuses        []struct{ Name string }
		DeploymentStatuses []struct{ Name string }
		Deployments        []struct{ Name, Status string }
	}{}
	err := sys.Query(ctx, `query($namespace: String) {
		podStatuses(filter: {namespace: $namespace}) { name }
		deploymentStatuses { name }
		deployments { name status }
	}`, map[string]any{"namespace": targetNamespace}, &answer)
	if err != nil {
		return err
	}
	if len(answer.PodStatuses) > 0 || len(answer.DeploymentStatuses) > 0 {
		return fmt.Errorf("rows are left: %+v", answer)
	}
	for _, deployment := range answer.Deployments {
		if deployment.Status != "DELETED" {
			return fmt.Errorf("want the deployment DELETED, got %+v", deployment)
		}
	}
	return nil
}
