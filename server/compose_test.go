// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustSpec(t *testing.T, raw string) spec {
	t.Helper()
	decoded, err := decodeSpec([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestW5ChangesOfASpec(t *testing.T) {
	const base = `{"version": "1", "unknown": {"big": 12345678901234567890},
		"helmRelease": {"releaseName": "shop", "chart": {"name": "shop", "version": "1"}},
		"components": [{"name": "server", "replicas": 3, "replicasValue": "r"}, {"name": "db"}],
		"jobs": [{"name": "migrate"}]}`
	with := func(old, replacement string) string {
		if !strings.Contains(base, old) {
			t.Fatalf("the spec has no %s", old)
		}
		return strings.Replace(base, old, replacement, 1)
	}
	cases := map[string]struct {
		change Change
		want   string
	}{
		"a scaling sets the components' replicas": {
			Change{Kind: TaskScale, Replicas: []ComponentReplicas{{"server", 0}}},
			with(`"replicas": 3`, `"replicas": 0`),
		},
		"a new version is the application's and the chart's": {
			Change{Kind: TaskUpdateVersion, Version: "2"},
			strings.ReplaceAll(base, `"version": "1"`, `"version": "2"`),
		},
		"a stop keeps the replicas": {
			Change{Kind: TaskStopComponents, Components: []string{"server"}},
			with(`"replicas": 3`, `"replicas": 3, "running": false`),
		},
		"a start": {
			Change{Kind: TaskStartComponents, Components: []string{"server", "db"}},
			strings.Replace(with(`"replicas": 3`, `"replicas": 3, "running": true`), `"name": "db"`, `"name": "db", "running": true`, 1),
		},
		"a job changes nothing": {Change{Kind: TaskRunJob, Job: "migrate"}, base},
		"an update replaces all": {
			Change{Kind: TaskUpdate, Spec: json.RawMessage(`{"helmRelease": {"releaseName": "shop"}}`)},
			`{"helmRelease": {"releaseName": "shop"}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := mustSpec(t, base)
			got, err := tc.change.apply(before)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(mustSpec(t, tc.want), got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(mustSpec(t, base), before); diff != "" {
				t.Errorf("the spec before was changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestW5ChangesNameWhatIsWrong(t *testing.T) {
	base := mustSpec(t, `{"environment": "prod", "targetNamespace": "prod-shop",
		"helmRelease": {"releaseName": "shop", "chart": {}}, "jobs": "none",
		"components": [7, {"name": "server", "replicasValue": "r"}, {"name": "db"}]}`)
	update := func(raw string) Change { return Change{Kind: TaskUpdate, Spec: json.RawMessage(raw)} }
	scale := func(replicas ...ComponentReplicas) Change { return Change{Kind: TaskScale, Replicas: replicas} }
	cases := map[string]struct {
		base   spec
		change Change
		code   Code
		field  string
	}{
		"an unknown component to scale":      {base, scale(ComponentReplicas{"server", 1}, ComponentReplicas{"web", 1}), CodeInvalidInput, "replicas[1].component"},
		"a component to scale twice":         {base, scale(ComponentReplicas{"server", 1}, ComponentReplicas{"server", 2}), CodeInvalidInput, "replicas[1].component"},
		"fewer replicas than none":           {base, scale(ComponentReplicas{"server", -1}), CodeInvalidInput, "replicas[0].replicas"},
		"more replicas than a spec may have": {base, scale(ComponentReplicas{"server", 10001}), CodeInvalidInput, "replicas[0].replicas"},
		"a component that cannot be scaled":  {base, scale(ComponentReplicas{"db", 2}), CodeInvalidInput, "replicas[0].component"},
		"nothing to scale":                   {base, scale(), CodeInvalidInput, "replicas"},
		"an unknown component to stop":       {base, Change{Kind: TaskStopComponents, Components: []string{"server", "web"}}, CodeInvalidInput, "components[1]"},
		"a component that cannot be stopped": {base, Change{Kind: TaskStopComponents, Components: []string{"db"}}, CodeInvalidInput, "components[0]"},
		"an unknown component to start":      {base, Change{Kind: TaskStartComponents, Components: []string{""}}, CodeInvalidInput, "components[0]"},
		"nothing to start":                   {base, Change{Kind: TaskStartComponents}, CodeInvalidInput, "components"},
		"an unknown job":                     {base, Change{Kind: TaskRunJob, Job: "migrate"}, CodeInvalidInput, "job"},
		"no version":                         {base, Change{Kind: TaskUpdateVersion}, CodeInvalidInput, "version"},
		"a version that is too long":         {base, Change{Kind: TaskUpdateVersion, Version: strings.Repeat("1", 129)}, CodeInvalidInput, "version"},
		"a version that no database keeps":   {base, Change{Kind: TaskUpdateVersion, Version: "1\x00"}, CodeInvalidInput, "version"},
		"a version of a spec without chart":  {spec{}, Change{Kind: TaskUpdateVersion, Version: "2"}, CodeInvalidInput, "version"},
		"broken JSON":                        {base, update(`{`), CodeInvalidInput, "spec"},
		"no object":                          {base, update(`[]`), CodeInvalidInput, "spec"},
		"another environment":                {base, update(`{"environment": "test"}`), CodeInvalidInput, "spec.environment"},
		"another namespace":                  {base, update(`{"environment": "prod"}`), CodeInvalidInput, "spec.targetNamespace"},
		"another release":                    {base, update(`{"environment": "prod", "targetNamespace": "prod-shop"}`), CodeInvalidInput, "spec.helmRelease.releaseName"},
		"a change of what was never written": {nil, Change{Kind: TaskRunJob, Job: "migrate"}, CodeConflict, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := tc.change.apply(tc.base)
			wantCode(t, err, tc.code, tc.field)
		})
	}
}

func TestW5EqualSpecs(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want bool
	}{
		"in another order": {`{"a": 1, "b": {"c": [2]}}`, `{"b": {"c": [2]}, "a": 1}`, true},
		"with a number that differs in the last digit": {`{"a": 12345678901234567890}`, `{"a": 12345678901234567891}`, false},
		"with defaults of components":                  {`{"components": [{"name": "a", "running": true, "replicas": 1}]}`, `{"components": [{"name": "a"}]}`, true},
		"with the default of internal":                 {`{"internal": false}`, `{}`, true},
		"with defaults deep inside":                    {`{"helmRelease": {"timeout": "5m"}, "networkPolicy": {"isolation": "Namespace"}}`, `{"helmRelease": {}, "networkPolicy": {}}`, true},
		"with a null that says nothing":                {`{"jobs": null}`, `{}`, true},
		"with a stopped component":                     {`{"components": [{"name": "a", "running": false}]}`, `{"components": [{"name": "a"}]}`, false},
		"with components that are none":                {`{"components": [1]}`, `{"components": [1]}`, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := mustSpec(t, tc.a), mustSpec(t, tc.b)
			got, err := a.equals(b)
			if err != nil || got != tc.want {
				t.Errorf("equal %t (%v), want %t", got, err, tc.want)
			}
			if diff := cmp.Diff(mustSpec(t, tc.a), a); diff != "" {
				t.Errorf("comparing changed a spec (-want +got):\n%s", diff)
			}
		})
	}
}
