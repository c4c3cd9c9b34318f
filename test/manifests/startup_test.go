// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

// longestMigration is how long a server may take until it listens: it migrates its
// database before, or waits for another one that does.
const longestMigration = 30 * time.Minute

// TestTheServerMayMigrateForLong: the kubelet starts a server anew that does not
// answer, which would roll its migration back and begin it again, for ever. Nor does
// its rollout count as failed before.
func TestTheServerMayMigrateForLong(t *testing.T) {
	for name, objects := range deploying(t) {
		for _, deployment := range decoded[appsv1.Deployment](t, objects, "Deployment") {
			if deployment.Name != "styrmin-server" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				container := deployment.Spec.Template.Spec.Containers[0]
				startup := container.StartupProbe
				if startup == nil {
					t.Fatal("no startup probe holds the liveness probe back")
				}
				allowed := time.Duration(startup.FailureThreshold) * time.Duration(startup.PeriodSeconds) * time.Second
				if allowed < longestMigration {
					t.Errorf("the server may take %v until it listens, want %v", allowed, longestMigration)
				}
				progress := deployment.Spec.ProgressDeadlineSeconds
				if progress == nil || time.Duration(*progress)*time.Second <= allowed {
					t.Errorf("the rollout fails before the %v are over that the server may take", allowed)
				}
				if diff := cmp.Diff(container.LivenessProbe.HTTPGet, startup.HTTPGet); diff != "" {
					t.Errorf("what the probes ask for (-liveness +startup):\n%s", diff)
				}
			})
		}
	}
}
