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

// TestO8CostOfADeployment holds the bounds with few deployments, created at once,
// and a restart of the operator. A benchmark of the whole product does so with a
// thousand.
func TestO8CostOfADeployment(t *testing.T) {
	const n = 20
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
	before := reconciles(t)
	for i := range n {
		if err := c.Create(t.Context(), sampleDeployment(home.Name, fmt.Sprintf("shop-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	waitForAll(t, c, home.Name, n)
	perReconciles := (reconciles(t) - before) / n
	created := len(w.all(request.isWrite))
	first.stop(t)

	before = reconciles(t)
	startOperator(t, w.tapped(apiServer), opts, nil)
	eventually(t, "the new operator to have looked at all", func() error {
		if seen := reconciles(t) - before; seen < n {
			return fmt.Errorf("it has seen %v", seen)
		}
		return nil
	})
	perWrites := float64(created) / n
	again := len(w.all(request.isWrite)) - created
	t.Logf("%d deployments: %.1f reconciles and %.1f writes each; %d writes after a restart", n, perReconciles, perWrites, again)
	if perReconciles >= maxReconciles || perWrites >= maxWrites || again > 0 {
		t.Errorf("too much: %.1f reconciles, %.1f writes each, %d writes after a restart", perReconciles, perWrites, again)
	}
}

func waitForAll(t *testing.T, c client.Client, namespace string, n int) {
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
