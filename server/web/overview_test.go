// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"testing"

	"github.com/styrmin/styrmin/server"
)

func TestTheOverviewTellsProblemsFirst(t *testing.T) {
	s := newStage(t)
	_, what := s.runShop()
	failed, message := s.object("blog"), "image <b>not</b> found"
	failed.DisplayState, failed.Message = "Error", &message
	what.objects = append(what.objects, s.object("cart"), failed)
	s.reports(what)
	got := s.get(server.RoleViewer, "/")
	s.want("the status", http.StatusOK, got.Code)
	s.wantText(got, "1 of 3 deployments has failed", "image &lt;b&gt;not&lt;/b&gt; found", "4/4", "north")
	rows := s.rowsOf(got)
	s.want("the order", []string{"blog", "cart", "shop"}, rows)
}
