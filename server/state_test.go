// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestR14AdoptedDeployment(t *testing.T) {
	observed := reported("shop-1", "Ready", "Running")
	observed.Internal = true
	want := Deployment{
		ID: "d", ClusterID: "c", Name: "prod-shop", Internal: true,
		ManagedBy: DeploymentManagerCluster, Status: DeploymentPending, StatusSince: at(5), CreatedAt: at(5),
	}
	if diff := cmp.Diff(want, Adopt(observed, at(5))); diff != "" {
		t.Errorf("adopted (-want +got):\n%s", diff)
	}
}

func TestR3LastReportIsTheReceiptOfACompleteReport(t *testing.T) {
	observed := reported("shop-1", "Ready", "Running")
	state := &State{Deployment: Adopt(observed, at(0))}

	// Case D06: the agent's clock is seven minutes behind.
	state.ApplyReport(observed, noPods, Receipt{At: at(5), SentAt: at(5 - 420), Complete: true})
	partial := complete(10)
	partial.Complete = false
	observed.DisplayState = "Error"
	state.ApplyReport(observed, noPods, partial)

	if got := state.Deployment; !got.LastReportAt.Equal(at(5)) || got.Status != DeploymentFailed {
		t.Errorf("last report %s, status %s; want an incomplete report to set the status alone", got.LastReportAt, got.Status)
	}
	if !state.Observed.LastReportAt.Equal(at(5)) {
		t.Errorf("row's last report %s, want that of the complete one", state.Observed.LastReportAt)
	}
	state.ApplyReport(observed, noPods, complete(15))
	if !state.Deployment.LastReportAt.Equal(at(15)) || !state.Observed.LastReportAt.Equal(at(15)) {
		t.Errorf("last reports %s and %s, want those of the next complete one", state.Deployment.LastReportAt, state.Observed.LastReportAt)
	}
	partial.At, observed.UID = at(20), "another object"
	state.ApplyReport(observed, noPods, partial)
	if !state.Observed.LastReportAt.Equal(at(20)) {
		t.Errorf("new row's last report %s, want its receipt", state.Observed.LastReportAt)
	}
}

func TestR3FirstRowOfAnIncompleteReportIsFromItsReceipt(t *testing.T) {
	observed := reported("shop-1", "Ready", "Running")
	state := &State{Deployment: Adopt(observed, at(5))}
	partial := complete(5)
	partial.Complete = false
	state.ApplyReport(observed, noPods, partial)
	if state.Deployment.LastReportAt != nil || !state.Observed.LastReportAt.Equal(at(5)) {
		t.Errorf("deployment's last report %v, row's %s", state.Deployment.LastReportAt, state.Observed.LastReportAt)
	}
}

func TestR14AdoptedDeploymentFollowsTheObject(t *testing.T) {
	observed := reported("shop-1", "Ready", "Running")
	state := &State{Deployment: Adopt(observed, at(0))}
	observed.Internal = true
	state.ApplyReport(observed, noPods, complete(5))
	if !state.Deployment.Internal {
		t.Error("the object turned internal, the adopted deployment did not")
	}
	state.Deployment.ManagedBy, observed.Internal = DeploymentManagerServer, false
	state.ApplyReport(observed, noPods, complete(10))
	if !state.Deployment.Internal {
		t.Error("what the server declares was overwritten by a report")
	}
}
