// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"

	"github.com/styrmin/styrmin/server"
)

func TestADeploymentThatRunsIsShownWhole(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	got := s.get(server.RoleViewer, "/deployments/"+id)
	s.wantText(got, "RUNNING", "3 of 3 ready", `href="https://shop.example.com"`, "shop 2.4.0", "4 ready", "shop-server-a", "last report")
}
