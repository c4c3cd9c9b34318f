// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// The most that a deployment may cost until it is settled, events apart.
const (
	maxReconciles = 20
	maxWrites     = 25
)

// BenchmarkO8ManyDeployments creates many deployments at once, waits until all
// are Running, restarts the operator, and waits until it has looked at all.
func BenchmarkO8ManyDeployments(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				createAndRestart(b, n)
			}
		})
	}
}

// TestO8CostOfADeployment holds the bounds with few deployments.
func TestO8CostOfADeployment(t *testing.T) {
	createAndRestart(t, 20)
}

func createAndRestart(t testing.TB, n int) {
	t.Helper()
	w := &wire{}
	opts := fast()
	opts.EventDelay = 0 // The default.
	simulate(t, apiServer)
	c := newClient(t, apiServer)
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "home-"}}
	if err := c.Create(t.Context(), home); err != nil {
		t.Fatal(err)
	}
	first := startOperator(t, w.tapped(apiServer), opts, nil)
	before, begin := reconciles(t), time.Now()
	for i := range n {
		if err := c.Create(t.Context(), sampleDeployment(home.Name, fmt.Sprintf("shop-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	waitForAll(t, c, home.Name, n)
	took := time.Since(begin)
	perReconciles := (reconciles(t) - before) / float64(n)
	created := len(w.all(request.isWrite))
	first.stop(t)

	before, begin = reconciles(t), time.Now()
	startOperator(t, w.tapped(apiServer), opts, nil)
	eventually(t, "the new operator to have looked at all", func() error {
		if seen := reconciles(t) - before; seen < float64(n) {
			return fmt.Errorf("it has seen %v", seen)
		}
		return nil
	})
	restart := time.Since(begin)
	perWrites := float64(created) / float64(n)
	again := len(w.all(request.isWrite)) - created
	t.Logf("%d deployments: Running after %s, %.1f reconciles and %.1f writes each; restart in %s with %d writes",
		n, took.Round(time.Millisecond), perReconciles, perWrites, restart.Round(time.Millisecond), again)
	if perReconciles > maxReconciles || perWrites > maxWrites || again > 0 {
		t.Errorf("too much: %.1f reconciles, %.1f writes each, %d writes after a restart", perReconciles, perWrites, again)
	}
	if b, ok := t.(*testing.B); ok {
		b.ReportMetric(perReconciles, "reconciles/deployment")
		b.ReportMetric(perWrites, "writes/deployment")
		b.ReportMetric(took.Seconds(), "s-to-running")
		b.ReportMetric(restart.Seconds(), "s-to-restart")
	}
}

func waitForAll(t testing.TB, c client.Client, namespace string, n int) {
	t.Helper()
	deadline := time.Now().Add(time.Duration(n)*time.Second + patience)
	for {
		list := &styrminv1.StyrminDeploymentList{}
		if err := c.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.DisplayState == styrminv1.DisplayStateRunning {
				running++
			}
		}
		if running == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d deployments are Running", running, n)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
