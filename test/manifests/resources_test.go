// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// measured finds the numbers of a row of docs/benchmarks.md, whose cells match
// pattern, and returns the largest of each group.
func measured(t *testing.T, pattern string) []float64 {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository, "docs/benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^"+pattern).FindAllStringSubmatch(string(content), -1)
	if rows == nil {
		t.Fatalf("docs/benchmarks.md has no row %s", pattern)
	}
	largest := make([]float64, len(rows[0])-1)
	for _, row := range rows {
		for i, text := range row[1:] {
			number, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			largest[i] = max(largest[i], number)
		}
	}
	return largest
}

// TestResourcesAreThoseOfTheBenchmarks: what the manifests ask for is what was
// measured to be needed, and not many times as much.
func TestResourcesAreThoseOfTheBenchmarks(t *testing.T) {
	const megabyte, cycle = 1e6, 5000 // Bytes; a report's cycle in milliseconds.
	resources := func(name string) corev1.ResourceRequirements {
		return decoded[appsv1.Deployment](t, overlay(t, name), "Deployment")[0].Spec.Template.Spec.Containers[0].Resources
	}
	// Peak memory in MB and CPU a cycle in ms, of 10,000 pods with and without changes.
	reporter := measured(t, `\| 10,?000 \|[^|]*\| reporter \|[^|]*\| ([\d,.]+) MB \| ([\d,.]+) ms \|`)
	// In MB, on SQLite and PostgreSQL, 50,000 pods.
	first := measured(t, `\| the first full report is applied \|[^|]*\| ([\d,.]+) MB \| ([\d,.]+) MB \|`)
	steady := measured(t, `\| 1 % of the pods change with each report \|[^|]*\| ([\d,.]+) MB \| ([\d,.]+) MB \|`)
	agent, server := resources("default"), resources("server")
	for sentence, test := range map[string]struct{ given, needed float64 }{
		"the agent's memory":           {agent.Requests.Memory().AsApproximateFloat64(), reporter[0] * megabyte},
		"the agent's CPU":              {agent.Requests.Cpu().AsApproximateFloat64(), reporter[1] / cycle},
		"the server's memory":          {server.Requests.Memory().AsApproximateFloat64(), max(steady[0], steady[1]) * megabyte},
		"the server's limit of memory": {server.Limits.Memory().AsApproximateFloat64(), max(first[0], first[1]) * megabyte},
	} {
		if test.given < test.needed || test.given > 4*test.needed {
			t.Errorf("%s is %g, and %g were measured to be needed", sentence, test.given, test.needed)
		}
	}
	if agent.Limits.Cpu() != nil && !agent.Limits.Cpu().IsZero() {
		t.Error("the agent's CPU is limited, which delays the truth when it is wanted most")
	}
}
