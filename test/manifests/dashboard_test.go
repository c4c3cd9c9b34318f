// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// panel is a part of the dashboard.
type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ UID string }
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr, RefID string }
}

func dashboard(t *testing.T) []panel {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, "config/grafana/styrmin.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	return dashboard.Panels
}

// TestDashboardIsWhole: each panel has a place and a number of its own, says what
// it shows, and asks the data source that the reader has chosen.
func TestDashboardIsWhole(t *testing.T) {
	ids, taken := map[int]string{}, map[[2]int]string{}
	for _, p := range dashboard(t) {
		if other, twice := ids[p.ID]; twice {
			t.Errorf("%q and %q have the same number", p.Title, other)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" && other != p.Title || x >= 24 {
					t.Fatalf("%q lies on %q or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%q lacks a description, a query or the chosen data source", p.Title)
		}
	}
}

// TestDashboardAsksWhatPrometheusUnderstands has Prometheus' own checker read each
// query, as a recording rule.
func TestDashboardAsksWhatPrometheusUnderstands(t *testing.T) {
	checker, dir := promtool(t), t.TempDir()
	var rules []map[string]string
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			rules = append(rules, map[string]string{
				"record": fmt.Sprintf("panel:%d:%s", p.ID, target.RefID),
				"expr":   strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"),
			})
		}
	}
	file := writeYAML(t, dir, "dashboard.yaml", map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	run(t, dir, checker, "check", "rules", file)
}
