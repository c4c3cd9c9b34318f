// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/styrmin/styrmin/test/system"
)

// promtool returns the path of Prometheus' own checker, or skips the test.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (apt-get install prometheus)")
	}
	return path
}

// monitored are the folders below config for the Prometheus operator, with the
// installation that each is for.
var monitored = map[string]string{"prometheus-agent": "default", "prometheus-server": "server"}

// monitoring are the objects of all of these folders.
func monitoring(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	return slices.Concat(overlay(t, "prometheus-agent"), overlay(t, "prometheus-server"))
}

// alerts are the shipped alerting rules of a folder.
func alerts(t *testing.T, folder string) (spec map[string]any, rules []map[string]any) {
	t.Helper()
	objects, err := system.Load(filepath.Join(repository, "config", folder, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	spec, _, err = unstructured.NestedMap(objects[0].Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	groups, _, err := unstructured.NestedSlice(spec, "groups")
	if err != nil || len(groups) == 0 {
		t.Fatalf("no groups of rules: %v", err)
	}
	for _, group := range groups {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			rules = append(rules, rule.(map[string]any))
		}
	}
	return spec, rules
}

// writeYAML writes a value to a file of a folder and returns its path.
func writeYAML(t *testing.T, dir, name string, value any) string {
	t.Helper()
	content, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program that has to succeed.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
}

// TestAlertRules plays series of values to the rules: each alert comes when it has
// to, for whom it has to, and not before.
func TestAlertRules(t *testing.T) {
	checker := promtool(t)
	for folder := range monitored {
		dir := t.TempDir()
		spec, _ := alerts(t, folder)
		run(t, dir, checker, "check", "rules", writeYAML(t, dir, "rules.yaml", spec))
		if err := copyPath(filepath.Join(repository, "config", folder, "rules_test.yaml"), filepath.Join(dir, "rules_test.yaml")); err != nil {
			t.Fatal(err)
		}
		run(t, dir, checker, "test", "rules", "rules_test.yaml")
	}
}

// TestEachAlertIsPlayed: the tests of the rules have for each alert a time at which
// it comes, and one at which it does not.
func TestEachAlertIsPlayed(t *testing.T) {
	for folder := range monitored {
		t.Run(folder, func(t *testing.T) { wantPlayed(t, folder) })
	}
}

func wantPlayed(t *testing.T, folder string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, "config", folder, "rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var played struct {
		Tests []struct {
			AlertRuleTest []struct {
				AlertName string `json:"alertname"`
				ExpAlerts []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(content, &played); err != nil {
		t.Fatal(err)
	}
	comes, doesNot := map[any]bool{}, map[any]bool{}
	for _, test := range played.Tests {
		for _, moment := range test.AlertRuleTest {
			if len(moment.ExpAlerts) > 0 {
				comes[moment.AlertName] = true
			} else {
				doesNot[moment.AlertName] = true
			}
		}
	}
	_, rules := alerts(t, folder)
	for _, rule := range rules {
		if name := rule["alert"]; !comes[name] || !doesNot[name] {
			t.Errorf("%s: played with the alert: %t, without: %t", name, comes[name], doesNot[name])
		}
	}
}

// TestEachAlertLeadsToTheRunbook: whoever is woken finds what to do.
func TestEachAlertLeadsToTheRunbook(t *testing.T) {
	runbook, err := os.ReadFile(filepath.Join(repository, "docs/runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []map[string]any
	for folder := range monitored {
		_, some := alerts(t, folder)
		rules = append(rules, some...)
	}
	known := map[string]bool{}
	for _, rule := range rules {
		name, _ := rule["alert"].(string)
		known[name] = true
		if !strings.Contains(string(runbook), "\n## "+name+"\n") {
			t.Errorf("%s has no entry in docs/runbook.md", name)
		}
		link, _, _ := unstructured.NestedString(rule, "annotations", "runbook_url")
		if !strings.HasSuffix(link, "/docs/runbook.md#"+strings.ToLower(name)) {
			t.Errorf("%s leads to %q", name, link)
		}
	}
	for line := range strings.Lines(string(runbook)) {
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok && !known[entry] {
			t.Errorf("docs/runbook.md has an entry %s, which is no alert", entry)
		}
	}
}
