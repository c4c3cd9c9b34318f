// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAlertsAndDashboardAskForWhatIsServed compares the metrics in the shipped
// alerts and the dashboard with those that the programs serve once a deployment
// has been made through the API, broken and deleted.
func TestAlertsAndDashboardAskForWhatIsServed(t *testing.T) {
	t.Parallel() // It mostly waits, and disturbs nobody.
	asked := queries(t)
	id := liveAndFail(t)
	// What is told of a deployment is told no more soon after it is gone.
	token := scraper(t, "prometheus", "styrmin-metrics-reader")
	served := servedNow(t, token)
	waitForTask(t, changeDeployment(t, id, "deleteDeployment(id: $id)"), "SUCCEEDED", "")
	maps.Copy(served, servedNow(t, token))
	for where, query := range asked {
		names := metricNames(query)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric: %s", where, query)
		}
		for _, name := range names {
			if !served[name] {
				t.Errorf("%s asks for %s, which nothing serves", where, name)
			}
		}
	}
}

// servedNow are the names of the metrics that the programs serve.
func servedNow(t *testing.T, token string) map[string]bool {
	t.Helper()
	served := map[string]bool{}
	for line := range strings.Lines(allMetrics(t, token)) {
		if name, _, found := strings.Cut(line, "{"); found {
			served[name] = true
		} else if name, _, found := strings.Cut(line, " "); found {
			served[name] = true
		}
	}
	return served
}

// liveAndFail makes a deployment through the API, and breaks its image.
func liveAndFail(t *testing.T) (id string) {
	t.Helper()
	deleteAfterwards(t, "watched")
	shop := smallShop("", "watched", "")
	shop.Spec.InstanceID = ""
	answer := struct {
		Task struct{ ID, DeploymentID string }
	}{}
	err := sys.Query(t.Context(), `mutation ($cluster: ID!, $spec: JSON!) { task: createDeployment(input: {
		name: "watched", clusterId: $cluster, environment: "watched", spec: $spec}) { id deploymentId } }`,
		map[string]any{"cluster": sys.ClusterID, "spec": shop.Spec}, &answer)
	if err != nil {
		t.Fatal(err)
	}
	id = answer.Task.DeploymentID
	has := func(want string) func(context.Context) error {
		return func(ctx context.Context) error {
			status, _, err := storeStatus(ctx, id)
			if err == nil && status != want {
				err = fmt.Errorf("want %s, got %s", want, status)
			}
			return err
		}
	}
	waitForTask(t, answer.Task.ID, "SUCCEEDED", "")
	eventually(t, time.Minute, "the watched deployment runs", has("RUNNING"))

	shop.Spec.HelmRelease.Values.Raw = []byte(`{"server": {"image": "registry.example/does-not-exist:1"}}`)
	err = sys.Query(t.Context(), `mutation ($id: ID!, $spec: JSON!) { task: updateDeployment(id: $id, spec: $spec) { id } }`,
		map[string]any{"id": id, "spec": shop.Spec}, &answer)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, 2*time.Minute, "the watched deployment is FAILED", has("FAILED"))
	return id
}

// queries are the expressions of the alerts and of the dashboard's panels, by where
// they stand.
func queries(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, rules := range slices.Concat(overlay(t, "prometheus-agent"), overlay(t, "prometheus-server")) {
		groups, _, err := unstructured.NestedSlice(rules.Object, "spec", "groups")
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			for _, entry := range group.(map[string]any)["rules"].([]any) {
				rule := entry.(map[string]any)
				found[fmt.Sprint("alert ", rule["alert"])] = rule["expr"].(string)
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("there are no alerts")
	}
	content, err := os.ReadFile("../../config/grafana/styrmin.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(content, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			found[fmt.Sprintf("panel %q, %s", panel.Title, target.RefID)] = target.Expr
		}
	}
	return found
}

var (
	// noMetric is what of a query holds names that are no metrics: label matchers,
	// ranges and lists of labels.
	noMetric = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|\b(by|without|on|ignoring)\s*\([^)]*\)`)
	// nameOrCall is a name, with the bracket where it is a function's.
	nameOrCall = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	operators  = []string{"and", "or", "unless", "bool", "offset"}
)

// metricNames are the metrics that a query asks for.
func metricNames(query string) []string {
	var names []string
	for _, name := range nameOrCall.FindAllString(noMetric.ReplaceAllString(query, " "), -1) {
		name = strings.TrimSpace(name)
		if !strings.HasSuffix(name, "(") && !slices.Contains(operators, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func TestMetricNamesOfQueries(t *testing.T) {
	for query, want := range map[string][]string{
		`max by (cluster) (a_seconds) > 60`:                                   {"a_seconds"},
		`sum by (kind) (rate(a_total{result!="ok"}[5m])) unless b{c="d"} > 0`: {"a_total", "b"},
		`time() - max(a) / on (pod) b`:                                        {"a", "b"},
		`1 + 2`:                                                               nil,
	} {
		if diff := cmp.Diff(want, metricNames(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}
