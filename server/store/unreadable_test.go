// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

// TestR15ARejectedRowIsNoAbsence: the object is in the cluster, so its row and
// what follows from it stay as they were until it can be read again, or is gone.
func TestR15ARejectedRowIsNoAbsence(t *testing.T) {
	onEach(t, func(w *world) {
		digest := "d1"
		w.deployments(object("shop"), object("blog"))
		first, before := w.clock.Now(), w.deployment("uid-shop")
		bad := object("shop")
		bad.UID, bad.Phase, bad.DisplayState = "", "Deleting", "Deleting"
		second := w.clock.Advance(5 * time.Second)
		w.deploymentReport(server.DeploymentReport{
			Header: w.header(), Digest: &digest, Deployments: []server.DeploymentStatus{bad, object("blog")},
		})
		w.want("the deployment that could not be read", before, w.deployment("uid-shop"))
		times := map[string]time.Time{}
		for _, row := range w.observed() {
			times[row.Name] = row.LastReportAt
		}
		w.want("the rows' last-report times", map[string]time.Time{"shop": first, "blog": second}, times)
		w.want("whether the digest stands for them", true,
			w.deploymentReport(server.DeploymentReport{Header: w.header(), Digest: &digest}).Resend)

		w.deployments(object("blog"))
		w.want("the status once it is gone", server.DeploymentDeleted, w.deployment("uid-shop").Status)
	})
}

func TestR15ARejectedPodIsNoAbsence(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x"), pod("y")))
		bad := pod("x")
		bad.UID = ""
		w.pods(whole("a", "a2", bad))
		w.wantStored("a/x uid-x")
		w.want("what is wanted again", []string{"a"}, w.pods(same("a", "a2")).Resend)
		w.pods(whole("a", "a2"))
		w.wantStored()
	})
}
