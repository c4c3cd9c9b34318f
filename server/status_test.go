// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestR5DisplayStateSetsStatus(t *testing.T) {
	type outcome struct {
		Status  DeploymentStatusName
		Message *string
	}
	cases := map[string]struct {
		phase, displayState, message string
		want                         outcome
	}{
		"Running of an instance without a task is RUNNING": {"Ready", "Running", "fine", outcome{DeploymentRunning, nil}},
		"Error is FAILED with the object's message":        {"Failed", "Error", "no chart", outcome{DeploymentFailed, ptr("no chart")}},
		"Error in phase Ready is FAILED too":               {"Ready", "Error", "crash loop", outcome{DeploymentFailed, ptr("crash loop")}},
		"Error without a message has none":                 {"Failed", "Error", "", outcome{DeploymentFailed, nil}},
		"Deleting is DELETING":                             {"Deleting", "Deleting", "waits for pods", outcome{DeploymentDeleting, ptr("waits for pods")}},
		"Deleted is DELETED":                               {"Deleted", "Deleted", "", outcome{DeploymentDeleted, nil}},
		"Deploying is DEPLOYING":                           {"CreatingServices", "Deploying", "1 of 3 ready", outcome{DeploymentDeploying, ptr("1 of 3 ready")}},
		"an unknown word is DEPLOYING":                     {"Ready", "Meditating", "", outcome{DeploymentDeploying, nil}},
		"an empty word is DEPLOYING":                       {"", "", "", outcome{DeploymentDeploying, nil}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := reported("shop-1", tc.phase, tc.displayState)
			observed.Message = &tc.message
			state := &State{Deployment: Adopt(observed, at(0))}
			state.ApplyReport(observed, noPods, complete(5))
			got := outcome{state.Deployment.Status, state.Deployment.StatusMessage}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if !state.Deployment.StatusSince.Equal(at(5)) {
				t.Errorf("status since %s, want the time of receipt", state.Deployment.StatusSince)
			}
		})
	}
}

func TestR5RunningMeansTheDeclaredSpec(t *testing.T) {
	cases := map[string]struct {
		generation, observed int64
		deletionRequested    bool
		want                 DeploymentStatusName
	}{
		"the operator has handled the newest generation":                     {2, 2, false, DeploymentRunning},
		"a spec edited by hand that no operator has begun with is DEPLOYING": {2, 1, false, DeploymentDeploying},
		"a deletion raises the generation and declares nothing new":          {2, 1, true, DeploymentRunning},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed := reported("shop-1", "Ready", "Running")
			observed.Generation, observed.ObservedGeneration = tc.generation, &tc.observed
			if tc.deletionRequested {
				observed.DeletionRequestedAt = atPtr(4)
			}
			state := &State{Deployment: Adopt(observed, at(0))}
			state.ApplyReport(observed, noPods, complete(5))
			if got := state.Deployment.Status; got != tc.want {
				t.Errorf("status %s, want %s", got, tc.want)
			}
		})
	}
}

func TestR5StatusSinceMovesOnlyWithTheStatus(t *testing.T) {
	failed := reported("shop-1", "Failed", "Error")
	failed.Message = ptr("first")
	state := &State{Deployment: Adopt(failed, at(0))}
	state.ApplyReport(failed, noPods, complete(5))
	failed.Message = ptr("second")
	state.ApplyReport(failed, noPods, complete(10))
	if got := state.Deployment; !got.StatusSince.Equal(at(5)) || *got.StatusMessage != "second" {
		t.Errorf("since %s with %q, want the first report's time with the second's message", got.StatusSince, *got.StatusMessage)
	}
}

func TestR5PrevailingObject(t *testing.T) {
	object := func(namespace, name, uid string, deleted bool) DeploymentStatus {
		o := DeploymentStatus{Namespace: namespace, Name: name, UID: uid}
		if deleted {
			o.DeletionRequestedAt = atPtr(0)
		}
		return o
	}
	own := &Deployment{Name: "shop", Environment: ptr("prod"), ManagedBy: DeploymentManagerServer}
	cases := map[string]struct {
		objects []DeploymentStatus
		want    string
	}{
		"the server's own wins over a copy of it": {
			[]DeploymentStatus{object(ObjectNamespace, "dev-shop", "1", false), object(ObjectNamespace, "prod-shop", "2", false)}, "2",
		},
		"a copy wins over the server's own whose deletion is requested": {
			[]DeploymentStatus{object(ObjectNamespace, "prod-shop", "2", true), object(ObjectNamespace, "dev-shop", "1", false)}, "1",
		},
		"one whose deletion is not requested wins": {[]DeploymentStatus{object("a", "a", "1", true), object("b", "b", "2", false)}, "2"},
		"the only one wins though it is deleted":   {[]DeploymentStatus{object("a", "a", "1", true)}, "1"},
		"of equals the first by namespace wins":    {[]DeploymentStatus{object("b", "a", "2", false), object("a", "b", "1", false)}, "1"},
		"then the first by name":                   {[]DeploymentStatus{object("a", "b", "2", true), object("a", "a", "1", true)}, "1"},
		"then the first by uid":                    {[]DeploymentStatus{object("a", "a", "2", false), object("a", "a", "1", false)}, "1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := own.Prevailing(tc.objects); got.UID != tc.want {
				t.Errorf("picked %s, want %s", got.UID, tc.want)
			}
		})
	}
	if got := own.Prevailing(nil); got != nil {
		t.Errorf("picked %v of none", got)
	}
}
