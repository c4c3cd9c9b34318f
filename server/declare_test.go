// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// leastSpec is the least that a spec must say; the fields of patch come on top,
// or instead.
func leastSpec(t *testing.T, patch string) string {
	t.Helper()
	whole := mustSpec(t, `{"helmRelease": {"releaseName": "shop", "chart": {"repository": "oci://charts", "name": "shop", "version": "1"}}}`)
	maps.Copy(whole, mustSpec(t, patch))
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestW5DeclaredSpec(t *testing.T) {
	prod := &Deployment{Name: "shop", Environment: ptr("prod")}
	platform := &Deployment{Name: "shop", Environment: ptr("prod"), Internal: true}
	cases := map[string]struct {
		deployment  *Deployment
		patch, want string
	}{
		"gets what the deployment says":           {prod, `{}`, `{"environment": "prod", "targetNamespace": "prod-shop"}`},
		"gets the deployment's internal":          {platform, `{}`, `{"environment": "prod", "targetNamespace": "prod-shop", "internal": true}`},
		"may name the deployment's environment":   {prod, `{"environment": "prod", "internal": false}`, `{"environment": "prod", "targetNamespace": "prod-shop", "internal": false}`},
		"may name a namespace":                    {prod, `{"targetNamespace": "elsewhere"}`, `{"environment": "prod", "targetNamespace": "elsewhere"}`},
		"may leave things null":                   {prod, `{"environment": null, "internal": null, "targetNamespace": null, "jobs": null}`, `{"environment": "prod", "targetNamespace": "prod-shop", "internal": null, "jobs": null}`},
		"may leave the ids empty":                 {prod, `{"deploymentId": "", "instanceId": null}`, `{"environment": "prod", "targetNamespace": "prod-shop"}`},
		"keeps the digits of a chart's values":    {prod, `{"helmRelease": {"releaseName": "s", "values": {"x": 1.50}, "chart": {"repository": "oci://c", "name": "c", "version": "1"}}}`, `{"environment": "prod", "targetNamespace": "prod-shop", "helmRelease": {"releaseName": "s", "values": {"x": 1.50}, "chart": {"repository": "oci://c", "name": "c", "version": "1"}}}`},
		"may hold the escape of a NUL":            {prod, `{"version": "\\u0000"}`, `{"environment": "prod", "targetNamespace": "prod-shop", "version": "\\u0000"}`},
		"gets no defaults that the cluster gives": {prod, `{"components": [{"name": "a", "selector": {}}]}`, `{"environment": "prod", "targetNamespace": "prod-shop", "components": [{"name": "a", "selector": {}}]}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := declare(json.RawMessage(leastSpec(t, tc.patch)), tc.deployment)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(mustSpec(t, leastSpec(t, tc.want)), got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			raw, err := got.encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, new(styrminv1.StyrminDeploymentSpec)); err != nil {
				t.Errorf("the operator cannot read it: %v", err)
			}
		})
	}
}

// TestR15BadSpecsAreRefusedByTheFieldAtFault: a spec that would fail once it is
// written is refused when it is declared, with the path of the field.
func TestR15BadSpecsAreRefusedByTheFieldAtFault(t *testing.T) {
	component := func(fields string) string {
		return `{"components": [{"name": "db", "selector": {}}, {` + fields + `}]}`
	}
	chart := func(fields string) string {
		return `{"helmRelease": {"releaseName": "shop", "chart": {"repository": "oci://c", "name": "c", "version": "1"}, ` + fields + `}}`
	}
	service := func(fields string) string {
		return `{"components": [{"name": "web", "selector": {}}], "services": [{"name": "web", ` + fields + `}]}`
	}
	hook := func(action string) string {
		return `{"components": [{"name": "web", "selector": {}}], "hooks": {"upgrade": {"pre": [{"startComponents": ["web"]}, ` + action + `]}}}`
	}
	cases := map[string]struct{ patch, field, message string }{
		"another environment":                 {`{"environment": "test"}`, "spec.environment", "the deployment has prod, not test"},
		"another kind of deployment":          {`{"internal": true}`, "spec.internal", "the deployment has false, not true"},
		"an id of its own":                    {`{"deploymentId": "x"}`, "spec.deploymentId", "is set by the server"},
		"an instance of its own":              {`{"instanceId": "x"}`, "spec.instanceId", "is set by the server"},
		"NUL in a text":                       {`{"version": "a\u0000b"}`, "spec", "holds a NUL character"},
		"NUL in a list":                       {chart(`"values": [["a\u0000"]]`), "spec", "holds a NUL character"},
		"NUL in a key":                        {chart(`"values": {"a\u0000": 1}`), "spec", "holds a NUL character"},
		"no release":                          {`{"helmRelease": null}`, "spec.helmRelease", "is required"},
		"a field that is not known":           {`{"replica": 1}`, "spec.replica", "is not a field that a StyrminDeployment has"},
		"an unknown field of a component":     {component(`"name": "web", "selector": {}, "replica": 1`), "spec.components[1].replica", "is not a field that a StyrminDeployment has"},
		"a component without a name":          {component(`"selector": {}`), "spec.components[1].name", "is required"},
		"a component that is there twice":     {component(`"name": "db", "selector": {}`), "spec.components[1].name", "is there twice"},
		"a component that is none":            {`{"components": [null]}`, "spec.components[0]", `must be of type object: "null"`},
		"components that are none":            {`{"components": {}}`, "spec.components", `must be of type array: "object"`},
		"a bad name":                          {component(`"name": "Web", "selector": {}`), "spec.components[1].name", "should match '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'"},
		"negative replicas":                   {component(`"name": "web", "selector": {}, "replicas": -1`), "spec.components[1].replicas", "should be greater than or equal to 0"},
		"half a replica":                      {component(`"name": "web", "selector": {}, "replicas": 1.5`), "spec.components[1].replicas", `must be of type int32: "float64"`},
		"replicas beyond 64 bits":             {component(`"name": "web", "selector": {}, "replicas": 99999999999999999999`), "spec.components[1].replicas", `must be of type int32: "float64"; spec.components[1].replicas should be less than or equal to 10000`},
		"a word for replicas":                 {component(`"name": "web", "selector": {}, "replicas": "3"`), "spec.components[1].replicas", `must be of type integer: "string"`},
		"a component that cannot be stopped":  {component(`"name": "web", "selector": {}, "running": false`), "spec.components[1]", "a component without replicasValue cannot be stopped"},
		"a selector that is none":             {component(`"name": "web", "selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}`), "spec.components[1].selector", `"Is" is not a valid label selector operator`},
		"a label that is none":                {component(`"name": "web", "selector": {"matchLabels": {"a": "b c"}}`), "spec.components[1].selector", ""},
		"a version that is a number":          {`{"version": 2}`, "spec.version", `must be of type string: "integer"`},
		"a duration that is none":             {chart(`"timeout": "soon"`), "spec.helmRelease.timeout", "between 1s and 24h"},
		"a duration of a week":                {chart(`"timeout": "168h"`), "spec.helmRelease.timeout", "between 1s and 24h"},
		"values that are a list":              {chart(`"values": []`), "spec.helmRelease.values", `must be of type object: "array"`},
		"a repository without a scheme":       {`{"helmRelease": {"releaseName": "s", "chart": {"repository": "charts", "name": "c", "version": "1"}}}`, "spec.helmRelease.chart.repository", "should match '^(https?|oci)://.+$'"},
		"a release name that is too long":     {`{"helmRelease": {"releaseName": "` + strings.Repeat("s", 54) + `", "chart": {"repository": "oci://c", "name": "c", "version": "1"}}}`, "spec.helmRelease.releaseName", "may not be more than 53 bytes"},
		"a port beyond all ports":             {service(`"component": "web", "port": 70000`), "spec.services[0].port", "should be less than or equal to 65535"},
		"a service of no component":           {service(`"component": "none", "port": 80`), "", "every service's component must be one of components"},
		"an isolation that is none":           {`{"networkPolicy": {"isolation": "Total"}}`, "spec.networkPolicy.isolation", `supported values: "None", "Namespace"`},
		"a secret of both kinds":              {`{"secrets": [{"name": "s", "fromSecret": {"name": "x"}, "generate": {"keys": ["k"]}}]}`, "spec.secrets[0]", "exactly one of fromSecret and generate must be set"},
		"a namespace name that is none":       {`{"targetNamespace": "My_Space"}`, "spec.targetNamespace", "should match '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'"},
		"a namespace of Kubernetes":           {`{"targetNamespace": "kube-system"}`, "spec.targetNamespace", "kube-system is not for deployments"},
		"the namespace of everyone":           {`{"targetNamespace": "default"}`, "spec.targetNamespace", "default is not for deployments"},
		"the namespace of Styrmin":            {`{"targetNamespace": "styrmin"}`, "spec.targetNamespace", "styrmin is not for deployments"},
		"a job that no Job can be":            {`{"jobs": [{"name": "a", "template": {}}, {"name": "b", "template": {"backoffLimit": "x"}}]}`, "spec.jobs[1].template.backoffLimit", "cannot be a string"},
		"a job of odd quantities":             {`{"jobs": [{"name": "a", "template": {"template": {"spec": {"overhead": {"cpu": "much"}}}}}]}`, "spec.jobs[0].template", ""},
		"a hook that does two things":         {hook(`{"runJob": "a", "stopComponents": ["b"]}`), "spec.hooks.upgrade.pre[1]", "exactly one of stopComponents, startComponents and runJob must be set"},
		"a hook of an unknown component":      {hook(`{"startComponents": ["web", "none"]}`), "spec.hooks.upgrade.pre[1].startComponents[1]", `the deployment has no component "none"`},
		"a hook of an unknown job":            {hook(`{"runJob": "none"}`), "spec.hooks.upgrade.pre[1].runJob", `the deployment has no job "none"`},
		"a hook that stops what cannot be":    {hook(`{"stopComponents": ["web"]}`), "spec.hooks.upgrade.pre[1].stopComponents[0]", `component "web" has no replicasValue and cannot be stopped`},
		"several faults, the first by path":   {`{"version": 2, "jobs": 1, "secrets": "x"}`, "spec.jobs", `must be of type array: "integer"; spec.secrets must be of type array: "string"; spec.version must be of type string: "integer"`},
		"more faults than a message can hold": {`{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1}`, "spec.a", "is not a field that a StyrminDeployment has; spec.b is not a field that a StyrminDeployment has; spec.c is not a field that a StyrminDeployment has; spec.d is not a field that a StyrminDeployment has; spec.e is not a field that a StyrminDeployment has; and 1 more"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := declare(json.RawMessage(leastSpec(t, tc.patch)), &Deployment{Name: "shop", Environment: ptr("prod")})
			wantCode(t, err, CodeInvalidInput, tc.field)
			if !strings.HasPrefix(err.Error(), tc.field) || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("the refusal is\n%s\nwant\n%s: %s", err, tc.field, tc.message)
			}
			for _, word := range []string{"map[", "interface", "unmarshal", "json:"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("the refusal speaks Go: %s", err)
				}
			}
		})
	}
	for _, raw := range []string{`{"`, `[]`, `"x"`, `null`, ``} {
		t.Run(fmt.Sprintf("no object: %q", raw), func(t *testing.T) {
			_, err := declare(json.RawMessage(raw), &Deployment{Name: "shop", Environment: ptr("prod")})
			wantCode(t, err, CodeInvalidInput, "spec")
		})
	}
}

// TestTheServersBoundsAreTheSchemas compares the bounds that calls are checked by
// with those of the StyrminDeployment's schema.
func TestTheServersBoundsAreTheSchemas(t *testing.T) {
	spec := schemaOfObjects().structural.Properties["spec"].Properties
	replicas := spec["components"].Items.Properties["replicas"]
	for name, bound := range map[string]struct {
		ours   int
		theirs int64
	}{
		"replicas":         {maxReplicas, int64(*replicas.ValueValidation.Maximum)},
		"version":          {maxVersionBytes, *spec["version"].ValueValidation.MaxLength},
		"chart version":    {maxVersionBytes, *spec["helmRelease"].Properties["chart"].Properties["version"].ValueValidation.MaxLength},
		"environment":      {maxEnvironment, *spec["environment"].ValueValidation.MaxLength},
		"target namespace": {maxObjectName, *spec["targetNamespace"].ValueValidation.MaxLength},
	} {
		if int64(bound.ours) != bound.theirs {
			t.Errorf("%s: ours is %d, the schema's %d", name, bound.ours, bound.theirs)
		}
	}
}
