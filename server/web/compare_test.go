// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server"
)

// declaredView is a deployment whose declared instance was reported.
func declaredView(components string, observed ...server.ComponentStatus) *server.DeploymentView {
	generation, version := int64(2), "2"
	instance := &server.Instance{ID: "i-2", Version: &version, Spec: json.RawMessage(`{"components": ` + components + `}`)}
	return &server.DeploymentView{
		Declared: instance, Reported: instance,
		Observed: &server.DeploymentStatus{
			InstanceID: "i-2", Generation: 2, ObservedGeneration: &generation, Phase: "Ready", DisplayState: "Running", Components: observed,
		},
	}
}

func TestWhatDiffersBetweenDeclaredAndObservedIsMarked(t *testing.T) {
	for name, tt := range map[string]struct {
		view   *server.DeploymentView
		change func(*server.DeploymentView)
		want   map[string][2]string
	}{
		"nothing": {view: declaredView(`[{"name": "a", "replicas": 2}]`, server.ComponentStatus{Name: "a", Desired: 2, Ready: 2, State: "Running"})},
		"a replica is missing": {
			view: declaredView(`[{"name": "a", "replicas": 2}]`, server.ComponentStatus{Name: "a", Desired: 2, Ready: 1, State: "Progressing"}),
			want: map[string][2]string{"a": {"2 replicas", "1 of 2 ready · Progressing"}},
		},
		"a stopped component runs": {
			view: declaredView(`[{"name": "a", "replicas": 2, "running": false}]`, server.ComponentStatus{Name: "a", Desired: 2, Ready: 2, State: "Running"}),
			want: map[string][2]string{"a": {"stopped", "2 of 2 ready · Running"}},
		},
		"a stopped component is stopped": {
			view: declaredView(`[{"name": "a", "running": false}]`, server.ComponentStatus{Name: "a", State: "Stopped"}),
		},
		"the default is one replica": {
			view: declaredView(`[{"name": "a"}]`, server.ComponentStatus{Name: "a", Desired: 1, Ready: 1, State: "Running"}),
		},
		"a component is not reported": {
			view: declaredView(`[{"name": "a"}]`), want: map[string][2]string{"a": {"1 replica", "not reported"}},
		},
		"a component is not declared": {
			view: declaredView(`[]`, server.ComponentStatus{Name: "b", Desired: 1, Ready: 1, State: "Running"}),
			want: map[string][2]string{"b": {"", "1 of 1 ready · Running"}},
		},
		"an earlier instance runs": {
			view: declaredView(`[]`),
			change: func(view *server.DeploymentView) {
				old := "1"
				view.Observed.InstanceID, view.Reported = "i-1", &server.Instance{ID: "i-1", Version: &old}
			},
			want: map[string][2]string{"Instance": {"i-2", "i-1"}, "Version": {"2", "1"}},
		},
		"the operator has not begun with the newest spec": {
			view: declaredView(`[]`), change: func(view *server.DeploymentView) { view.Observed.Generation = 3 },
			want: map[string][2]string{"Generation": {"3", "2"}},
		},
		"the operator has not begun at all": {
			view: declaredView(`[]`), change: func(view *server.DeploymentView) { view.Observed.ObservedGeneration = nil },
			want: map[string][2]string{"Generation": {"2", "none yet"}},
		},
		"it has failed": {
			view: declaredView(`[]`), change: func(view *server.DeploymentView) {
				view.Observed.DisplayState, view.Observed.Phase = "Error", "Failed"
			},
			want: map[string][2]string{"State": {"Running", "Error (Failed)"}},
		},
		"it is being deleted": {
			view: declaredView(`[]`), change: func(view *server.DeploymentView) {
				view.Observed.DeletionRequestedAt = new(time.Time)
			},
			want: map[string][2]string{"State": {"Deleted", "Running"}},
		},
		"nothing was reported": {
			view: declaredView(`[{"name": "a"}]`), change: func(view *server.DeploymentView) { view.Observed, view.Reported = nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.change != nil {
				tt.change(tt.view)
			}
			shown := compare(tt.view)
			var got map[string][2]string
			for _, row := range shown.Rows {
				if row.Differs {
					if got == nil {
						got = map[string][2]string{}
					}
					got[row.What] = [2]string{row.Declared, row.Observed}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what differs (-want +got):\n%s", diff)
			}
			if shown.Differences != len(tt.want) {
				t.Errorf("%d differences are told of", shown.Differences)
			}
		})
	}
}
