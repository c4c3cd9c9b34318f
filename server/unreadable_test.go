// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestR15AnObjectThatCannotBeReadIsThere decides what a report with a bad row
// makes of a cluster that has the objects x of deployment dx and y of dy. dz was
// declared, and nothing of it is stored.
func TestR15AnObjectThatCannotBeReadIsThere(t *testing.T) {
	row := func(namespace, name, uid, deployment string) DeploymentStatus {
		return DeploymentStatus{Namespace: namespace, Name: name, UID: uid, DeploymentID: deployment}
	}
	x, y := row("s", "x", "ux", "dx"), row("s", "y", "uy", "dy")
	type outcome struct {
		Deleted, Unread []ObjectKey
		// Absent are the deployments of which the report says that they are gone.
		Absent []string
		// Reported are those that it speaks about.
		Reported []string
	}
	cases := map[string]struct {
		reported []DeploymentStatus
		foreign  map[string]bool
		want     outcome
	}{
		"without a bad row what is not there is gone": {
			reported: []DeploymentStatus{y},
			want:     outcome{Deleted: []ObjectKey{{"s", "x"}}, Absent: []string{"dx", "dz"}, Reported: []string{"dy"}},
		},
		"one without a uid is there by its name": {
			reported: []DeploymentStatus{row("s", "x", "", "")},
			want:     outcome{Deleted: []ObjectKey{{"s", "y"}}, Unread: []ObjectKey{{"s", "x"}}, Absent: []string{"dy", "dz"}},
		},
		"one without a name is there by its uid": {
			reported: []DeploymentStatus{row("s", "", "ux", ""), y},
			want:     outcome{Unread: []ObjectKey{{"s", "x"}}, Absent: []string{"dz"}, Reported: []string{"dy"}},
		},
		"one without a name and a uid is there by its deployment": {
			reported: []DeploymentStatus{row("", "", "", "dx"), y},
			want:     outcome{Unread: []ObjectKey{{"s", "x"}}, Absent: []string{"dz"}, Reported: []string{"dy"}},
		},
		"one that says nothing of itself may be any": {
			reported: []DeploymentStatus{row("s", "", "", "")},
			want:     outcome{Unread: []ObjectKey{{"s", "x"}, {"s", "y"}}},
		},
		"one that is another object under a stored name may be of the same deployment": {
			reported: []DeploymentStatus{row("s", "x", "new", ""), y},
			want:     outcome{Deleted: []ObjectKey{{"s", "x"}}, Absent: []string{"dz"}, Reported: []string{"dy"}},
		},
		"one that was never stored and names no deployment may be of any": {
			reported: []DeploymentStatus{row("s", "z", "uz", ""), y},
			want:     outcome{Deleted: []ObjectKey{{"s", "x"}}, Reported: []string{"dy"}},
		},
		"one that was never stored is not absent": {
			reported: []DeploymentStatus{x, y, row("s", "z", "", "dz")},
			want:     outcome{Reported: []string{"dx", "dy"}},
		},
		"another object of another cluster's deployment says nothing of the one before it": {
			reported: []DeploymentStatus{row("s", "x", "new", "theirs"), y},
			foreign:  map[string]bool{"theirs": true},
			want:     outcome{Deleted: []ObjectKey{{"s", "x"}}, Absent: []string{"dx", "dz"}, Reported: []string{"dy"}},
		},
		"one that names a deployment of another cluster is there": {
			reported: []DeploymentStatus{row("s", "x", "ux", "theirs"), y},
			foreign:  map[string]bool{"theirs": true},
			want:     outcome{Unread: []ObjectKey{{"s", "x"}}, Absent: []string{"dz"}, Reported: []string{"dy"}},
		},
		"one that can be read is read beside a bad one of its name": {
			reported: []DeploymentStatus{row("s", "x", "", ""), x, y},
			want:     outcome{Absent: []string{"dz"}, Reported: []string{"dx", "dy"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report := DeploymentReport{Header: ReportHeader{Complete: true}, Deployments: tc.reported}
			rows, err := report.Apply([]DeploymentStatus{x, y}, tc.foreign)
			if err != nil {
				t.Fatal(err)
			}
			got := outcome{Reported: slices.Sorted(maps.Keys(rows.Reported))}
			for i := range rows.Deletes {
				got.Deleted = append(got.Deleted, rows.Deletes[i].Key())
			}
			for i := range rows.Unread {
				got.Unread = append(got.Unread, rows.Unread[i].Key())
			}
			for _, id := range []string{"dx", "dy", "dz"} {
				if rows.Absent(id) {
					got.Absent = append(got.Absent, id)
				}
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}
