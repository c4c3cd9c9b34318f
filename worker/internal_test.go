// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// createInternal asks for the shop as a deployment of the platform itself.
func (s *stage) createInternal(spec map[string]any) string {
	s.Helper()
	made := s.asUser(`mutation ($c: ID!, $e: String!, $s: JSON!) {
		do: createDeployment(input: {name: "shop", clusterId: $c, environment: $e, internal: true, spec: $s}) { id deploymentId } }`,
		map[string]any{"c": s.clusterID, "e": s.environment, "s": spec})
	s.deployment = made["deploymentId"].(string)
	return made["id"].(string)
}

func stepNames(view taskView) []string {
	names := make([]string, 0, len(view.Steps))
	for _, step := range view.Steps {
		names = append(names, step.Name)
	}
	return names
}

// TestR13W1FlowsOfInternalDeploymentsWaitForNoOperator: their tasks have no steps of
// it, and end when the flow has done its own.
func TestR13W1FlowsOfInternalDeploymentsWaitForNoOperator(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	s.operator(func() { s.operatorHolds = true })
	created := s.wantResult(s.createInternal(shopSpec("2.4.0")), "SUCCEEDED", "")
	if diff := cmp.Diff([]string{"Write the StyrminDeployment"}, stepNames(created)); diff != "" {
		t.Errorf("steps of the creation (-want +got):\n%s", diff)
	}
	if !s.object().Spec.Internal {
		t.Error("the object does not say that it is internal")
	}
	written := s.history()
	upgraded := s.wantResult(s.upgrade("2.5.0"), "SUCCEEDED", "")
	want := []string{"Pre-upgrade hook: stop server", "Write the StyrminDeployment", "Post-upgrade hook: start server"}
	if diff := cmp.Diff(want, stepNames(upgraded)); diff != "" {
		t.Errorf("steps of the upgrade (-want +got):\n%s", diff)
	}
	want = []string{"2.4.0 running: true", "2.4.0 running: false", "2.5.0 running: false", "2.5.0 running: true"}
	if diff := cmp.Diff(want, slices.Compact(written())); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
	// What reports tell of them is current all the same.
	s.operator(func() { s.operatorHolds = false })
	s.wantStatus("RUNNING")
	deleted := s.wantResult(s.change("deleteDeployment(id: $d)"), "SUCCEEDED", "")
	if diff := cmp.Diff([]string{"Request the deletion"}, stepNames(deleted)); diff != "" {
		t.Errorf("steps of the deletion (-want +got):\n%s", diff)
	}
	s.wantStatus("DELETED")
}

// TestR14R13AnAdoptedInternalDeploymentIsDeletedOnly: it was applied to the cluster by
// hand, and is changed there.
func TestR14R13AnAdoptedInternalDeploymentIsDeletedOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	placed := s.place(func(d *styrminv1.StyrminDeployment) {
		d.Spec.Environment, d.Spec.Internal = s.environment, true
	})
	s.deployment = string(placed.UID)
	s.eventually("it is adopted", func() error {
		_, err := s.read(t.Context(), `deployment(id: $id) { status }`, s.deployment)
		return err
	})
	h := s.startWorker()
	s.wantStatus("RUNNING")
	_, err := ask(t.Context(), suite.server.adminToken, `mutation ($d: ID!) { updateDeploymentVersion(id: $d, version: "2") { id } }`,
		map[string]any{"d": s.deployment})
	if err == nil {
		t.Error("it was changed through the server")
	}
	s.wantResult(s.change("deleteDeployment(id: $d)"), "SUCCEEDED", "")
	s.eventually("the object is gone", func() error {
		if s.object() != nil {
			return errors.New("it is still there")
		}
		return nil
	})
	s.wantStatus("DELETED")
	if writes := h.writes(); !slices.Equal(writes, []string{"k8s delete"}) {
		t.Errorf("the worker wrote %v", writes)
	}
}
