// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNamespaceOwners(t *testing.T) {
	object := func(id, status, reason string) DeploymentStatus {
		return DeploymentStatus{
			Name: id, DeploymentID: id, TargetNamespace: ptr("prod-shop"),
			Conditions: []Condition{{Type: "Ready", Status: "True"}, {Type: "PrerequisitesReady", Status: status, Reason: &reason}},
		}
	}
	made, working, refused := object("m", "True", "Succeeded"), object("w", "Unknown", "Pending"), object("a", "False", "Conflict")
	elsewhere := object("e", "True", "Succeeded")
	elsewhere.TargetNamespace = ptr("other")
	cases := map[string]struct {
		objects []DeploymentStatus
		want    map[string]string
	}{
		"the one that claims it":                             {[]DeploymentStatus{refused, elsewhere}, map[string]string{"prod-shop": "a", "other": "e"}},
		"the one that made it, before one that is refused":   {[]DeploymentStatus{refused, made}, map[string]string{"prod-shop": "m"}},
		"the one that works on it, before one refused":       {[]DeploymentStatus{refused, working}, map[string]string{"prod-shop": "w"}},
		"the one that made it, before one that works on it":  {[]DeploymentStatus{working, made}, map[string]string{"prod-shop": "m"}},
		"always the same of equals":                          {[]DeploymentStatus{object("y", "True", ""), object("x", "True", "")}, map[string]string{"prod-shop": "x"}},
		"no one for an object that does not say a namespace": {[]DeploymentStatus{{DeploymentID: "n"}}, map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, NamespaceOwners(tc.objects)); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
	moved := MovedNamespaces([]DeploymentStatus{refused, elsewhere}, []DeploymentStatus{refused, made})
	if diff := cmp.Diff(map[string]string{"prod-shop": "m", "other": ""}, moved); diff != "" {
		t.Errorf("moved namespaces (-want +got):\n%s", diff)
	}
}
