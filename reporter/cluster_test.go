// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// runningAgent is a manager with a reporter, between a real API server and a
// model server.
type runningAgent struct {
	server   *modelServer
	registry *prometheus.Registry
	stop     func()
}

// startAgent starts a manager that reports the given namespaces.
func startAgent(t *testing.T, config *rest.Config, server *modelServer, namespaces ...string) *runningAgent {
	t.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 testScheme(t),
		Logger:                 testr.New(t),
		Cache:                  cache.Options{ByObject: CacheByObject()},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
	})
	if err != nil {
		t.Fatal(err)
	}
	agent := &runningAgent{server: server, registry: prometheus.NewRegistry()}
	err = SetupWithManager(mgr, Options{
		ServerAddress: server.URL, AgentID: "agent-0", AgentVersion: "test", Namespaces: namespaces,
		Interval: time.Second, Metrics: agent.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	agent.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("The manager ended with: %v", err)
		}
	}
	t.Cleanup(func() { agent.stop() })
	return agent
}

// within polls until the server has exactly these pods, and returns how long
// that took.
func (a *runningAgent) within(t *testing.T, limit time.Duration, want ...string) time.Duration {
	t.Helper()
	began := time.Now()
	for {
		got := a.server.podNames()
		took := time.Since(began)
		if slices.Equal(got, want) {
			return took
		}
		if took > limit {
			t.Fatalf("After %s the server has %v, want %v", limit, got, want)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func createPod(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       podSpec(1),
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

func clusterDeployment(namespace string) *styrminv1.StyrminDeployment {
	return &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"},
		Spec: styrminv1.StyrminDeploymentSpec{
			Environment: "prod", TargetNamespace: namespace,
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop",
				Chart:       styrminv1.ChartSpec{Repository: "https://charts.example", Name: "shop", Version: "1.0.0"},
			},
			Components: []styrminv1.ComponentSpec{{Name: "server", Replicas: 1}},
		},
	}
}

func TestP1AManagerReportsWhatIsInTheCluster(t *testing.T) {
	t.Parallel()
	config := sharedConfig(t)
	c := testClient(t, config)
	namespace := createNamespace(t, c, "reported")
	createPod(t, c, namespace, "shop-0")
	createPod(t, c, createNamespace(t, c, "not-reported"), "other-0")
	deployment := clusterDeployment(namespace)
	if err := c.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), deployment); err != nil {
			t.Error(err)
		}
	})
	server := newModelServer(t)
	agent := startAgent(t, config, server, namespace)
	agent.within(t, time.Minute, namespace+"/shop-0")
	eventually(t, "the deployment is reported", func() bool { return len(server.deploymentNames()) == 1 })
	for _, pod := range server.storedPods() {
		if got := deref(pod.Component); got != "server" {
			t.Errorf("component = %q, want server", got)
		}
	}

	for i := range 3 {
		createPod(t, c, namespace, fmt.Sprintf("shop-%d", i+1))
	}
	took := agent.within(t, time.Minute, namespace+"/shop-0", namespace+"/shop-1", namespace+"/shop-2", namespace+"/shop-3")
	t.Logf("The server knew of new pods after %s", took.Round(10*time.Millisecond))
	if err := c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	agent.within(t, time.Minute)

	agent.stop()
	agent.stop = func() {}
	// A request that the end cut short may still be on its way through the server.
	eventually(t, "the agent's connections have ended", func() bool { return server.openConnections() == 0 })
	server.change(func() {
		server.intercept = func(http.ResponseWriter, *http.Request, *modelRequest) bool {
			t.Error("A report came after the manager had ended")
			return false
		}
	})
	createPod(t, c, namespace, "after-the-end")
	if diff := cmp.Diff([]string{}, server.podNames()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}
