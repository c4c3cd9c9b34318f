// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/styrmin/styrmin/test/system"
)

// TestAlertsAreAboutMetricsThatExist compares the shipped alerts with what the
// programs serve, and with the runbook.
func TestAlertsAreAboutMetricsThatExist(t *testing.T) {
	objects, err := system.Load("../../config/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	runbook, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the agent has reported", func(ctx context.Context) error {
		last, err := sys.LastReport(ctx)
		if err == nil && last.IsZero() {
			err = errors.New("no report yet")
		}
		return err
	})
	served, err := sys.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	groups, _, err := unstructured.NestedSlice(objects[0].Object, "spec", "groups")
	if err != nil || len(groups) == 0 {
		t.Fatalf("no groups: %v", err)
	}
	metric := regexp.MustCompile(`\bstyrmin_\w+`)
	for _, group := range groups {
		for _, entry := range group.(map[string]any)["rules"].([]any) {
			rule := entry.(map[string]any)
			name, _ := rule["alert"].(string)
			names := metric.FindAllString(rule["expr"].(string), -1)
			if len(names) == 0 {
				t.Errorf("%s is about no metric of ours", name)
			}
			for _, metric := range names {
				if !strings.Contains(served, "\n"+metric+"{") && !strings.Contains(served, "\n"+metric+" ") {
					t.Errorf("%s: nothing serves %s", name, metric)
				}
			}
			if !strings.Contains(string(runbook), "\n## "+name+"\n") {
				t.Errorf("%s has no entry in docs/runbook.md", name)
			}
			link, _, _ := unstructured.NestedString(rule, "annotations", "runbook_url")
			if !strings.HasSuffix(link, "/docs/runbook.md#"+strings.ToLower(name)) {
				t.Errorf("%s leads to %q", name, link)
			}
		}
	}
}
