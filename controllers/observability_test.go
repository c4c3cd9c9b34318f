// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

func TestO10EventsAndMetrics(t *testing.T) {
	startOperator(t, apiServer, fast(), nil)
	simulate(t, apiServer)
	f, d := newFixture(t, newClient(t, apiServer), "shop")
	d.Spec.HelmRelease.Values.Raw = []byte(`{"image":"` + badImage + `"}`)
	before := testutil.ToFloat64(failures.WithLabelValues(styrminv1.ReasonHelmFailed))
	f.create(d)
	f.waitFor("i-1", styrminv1.PhaseFailed, styrminv1.DisplayStateError)
	// They follow the status that was waited for.
	eventually(t, "the metrics", func() error {
		if got := testutil.ToFloat64(failures.WithLabelValues(styrminv1.ReasonHelmFailed)) - before; got < 1 {
			return fmt.Errorf("the failure was counted %v times", got)
		}
		return hasSeries(f.key, "Failed", "Error")
	})
	// A new process has none, and nothing to announce of what stays as it is.
	forgetDeployment(f.key)
	f.touch(&helmv2.HelmRelease{}, f.target, "shop")
	eventually(t, "the series in a new process", func() error { return hasSeries(f.key, "Failed", "Error") })

	f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) {
		s.HelmRelease.Values.Raw = []byte(`{"image":"registry.test/server:1"}`)
	})
	f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
	f.delete()
	f.waitGone()
	want := map[string]string{
		"CreatingPrerequisites": "Normal", "HelmFailed": "Warning", "Ready": "Normal", "Running": "Normal",
		"Deleting": "Normal", "Deleted": "Normal",
	}
	eventually(t, "the events", func() error {
		list := &eventsv1.EventList{}
		if err := f.client.List(t.Context(), list, client.InNamespace(f.key.Namespace)); err != nil {
			return err
		}
		got := map[string]string{}
		for _, event := range list.Items {
			if event.Regarding.Name != f.key.Name || event.ReportingController != styrminv1.FieldOwner {
				continue
			}
			if _, ok := want[event.Reason]; ok {
				got[event.Reason] = event.Type
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("they differ (-want +got):\n%s", diff)
		}
		return nil
	})
	eventually(t, "the series to go with the object", func() error {
		if testutil.CollectAndCount(deploymentState) > 0 && deploymentState.DeleteLabelValues(f.key.Namespace, f.key.Name, "Deleted", "Deleted") {
			return errText("it was still there")
		}
		return nil
	})
}

// hasSeries checks the series of a StyrminDeployment's state.
func hasSeries(key client.ObjectKey, phase, displayState string) error {
	if got := testutil.ToFloat64(deploymentState.WithLabelValues(key.Namespace, key.Name, phase, displayState)); got != 1 {
		return fmt.Errorf("the series of the state is %v, want 1", got)
	}
	return nil
}
