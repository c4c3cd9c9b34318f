// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestCaseH04OnlyTheLeaderWrites: an operator whose Lease another one holds knows
// everything and does nothing, until the Lease is its own.
func TestCaseH04OnlyTheLeaderWrites(t *testing.T) {
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: "operator"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("another"), LeaseDurationSeconds: ptr.To[int32](3600),
			AcquireTime: ptr.To(metav1.NowMicro()), RenewTime: ptr.To(metav1.NowMicro()),
		},
	}
	if err := f.client.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	mgr, err := ctrl.NewManager(w.tapped(apiServer), ctrl.Options{
		Scheme: scheme, Cache: cache.Options{ByObject: CacheByObject()}, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)},
		LeaderElection: true, LeaderElectionNamespace: lease.Namespace, LeaderElectionID: lease.Name,
		RetryPeriod: ptr.To(100 * time.Millisecond), RenewDeadline: ptr.To(40 * time.Second), LeaseDuration: ptr.To(time.Minute),
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := SetupWithManager(t.Context(), mgr, fast()); err != nil {
		t.Fatal(err)
	}
	start(t, mgr)
	f.create(d)
	eventually(t, "the operator to know the deployment, and that it does not lead", func() error {
		known := mgr.GetCache().Get(t.Context(), f.key, &styrminv1.StyrminDeployment{})
		if asked := w.all(func(r request) bool { return r.resource == "leases" && r.verb == "get" }); len(asked) < 3 {
			return errText("it has not looked at the Lease often enough")
		}
		return known
	})
	writes := w.all(request.isWrite)
	if len(writes) > 0 {
		t.Errorf("an operator that does not lead wrote: %v", writes)
	}
	lease.Spec.HolderIdentity = ptr.To("") // The other one lets go of it.
	if err := f.client.Update(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	f.waitFor("i-1", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
}

// TestCaseH05TheDefinitionOutlivesTheAgent: uninstalling the agent must not delete
// what it looks after.
func TestCaseH05TheDefinitionOutlivesTheAgent(t *testing.T) {
	crd := readCRDs(t, crdFolders[0], "*.yaml")[0]
	if got := crd.Annotations["helm.sh/resource-policy"]; got != "keep" {
		t.Errorf("the CustomResourceDefinition has the policy %q, want keep", got)
	}
}
