// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// merged is a copy of the object with the field.
func merged(object map[string]any, key string, value any) map[string]any {
	object = maps.Clone(object)
	object[key] = value
	return object
}

// TestRefusedChangesNameTheirFieldAndChangeNothing tries what a careless caller
// gets wrong, on a deployment that waits for its creation.
func TestRefusedChangesNameTheirFieldAndChangeNothing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		p, create := newPlay(t, url)
		dump := storetest.Dump(t, url)
		input := func(change map[string]any) map[string]any {
			input := map[string]any{"name": "blog", "environment": "prod", "clusterId": p.cluster.ID, "spec": shopSpec("1")}
			for key, value := range change {
				input[key] = value
			}
			return map[string]any{"input": input}
		}
		const creation = `mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) { id } }`
		for name, test := range map[string]struct {
			query     string
			variables map[string]any
			code      server.Code
			field     string
		}{
			"a name that is none":         {creation, input(map[string]any{"name": "My Blog"}), server.CodeInvalidInput, "input.name"},
			"a name that is taken":        {creation, input(map[string]any{"name": "shop"}), server.CodeConflict, "input.name"},
			"a spec with a bad component": {creation, input(map[string]any{"spec": map[string]any{"components": []any{map[string]any{"name": "a", "selector": map[string]any{}}, map[string]any{"name": "B", "selector": map[string]any{}}}, "helmRelease": shopSpec("1")["helmRelease"]}}), server.CodeInvalidInput, "input.spec.components[1].name"},
			"an update to a bad spec":     {`mutation ($d: ID!) { updateDeployment(id: $d, spec: {version: 2}) { id } }`, nil, server.CodeInvalidInput, "spec.helmRelease"},
			"a namespace that is taken":   {creation, input(map[string]any{"spec": merged(shopSpec("1"), "targetNamespace", "prod-shop")}), server.CodeConflict, "input.spec.targetNamespace"},
			"an unknown task":             {`mutation { finishTask(taskId: "none", workerId: "w", status: SUCCESS) { id } }`, nil, server.CodeNotFound, "taskId"},
			"an unknown cluster's token":  {`mutation { rotateAgentToken(clusterId: "none") { agentToken } }`, nil, server.CodeNotFound, "clusterId"},
			"an unknown token":            {`mutation { revokeToken(id: "none") }`, nil, server.CodeNotFound, "id"},
			"an unknown session":          {`mutation { reportPodStatuses(report: {sessionId: "none", sequence: 1, observedAt: "2026-11-29T12:00:00Z", sentAt: "2026-11-29T12:00:00Z"}, namespaces: []) { applied } }`, nil, server.CodeSessionUnknown, "report.sessionId"},
			"another Kubernetes cluster":  {`mutation ($c: ID!) { openReportSession(input: {clusterId: $c, clusterUid: "other", agentId: "a", agentVersion: "1"}) { id } }`, nil, server.CodeClusterMismatch, "input.clusterUid"},
			"a negative sequence":         {`mutation { reportPodStatuses(report: {sessionId: "none", sequence: -1, observedAt: "2026-11-29T12:00:00Z", sentAt: "2026-11-29T12:00:00Z"}, namespaces: []) { applied } }`, nil, server.CodeInvalidInput, "report.sequence"},
			"a lease for an unknown task": {`mutation { renewTaskLease(taskId: "none", workerId: "w") }`, nil, server.CodeNotFound, "taskId"},
			"no environment":              {creation, input(map[string]any{"environment": ""}), server.CodeInvalidInput, "input.environment"},
			"an unknown cluster":          {creation, input(map[string]any{"clusterId": "none"}), server.CodeNotFound, "input.clusterId"},
			"a spec that is a list":       {creation, input(map[string]any{"spec": []any{}}), server.CodeInvalidInput, "input.spec"},
			"a spec with an id":           {creation, input(map[string]any{"spec": map[string]any{"deploymentId": "x"}}), server.CodeInvalidInput, "input.spec.deploymentId"},
			"an unknown deployment":       {`mutation { deleteDeployment(id: "none") { id } }`, nil, server.CodeNotFound, "id"},
			"a component that is none":    {`mutation ($d: ID!) { scaleDeployment(id: $d, replicas: [{component: "web", replicas: 1}]) { id } }`, nil, server.CodeInvalidInput, "replicas[0].component"},
			"replicas below nothing":      {`mutation ($d: ID!) { scaleDeployment(id: $d, replicas: [{component: "server", replicas: -1}]) { id } }`, nil, server.CodeInvalidInput, "replicas[0].replicas"},
			"replicas beyond 32 bits":     {`mutation ($d: ID!) { scaleDeployment(id: $d, replicas: [{component: "server", replicas: 9223372036854775807}]) { id } }`, nil, server.CodeInvalidInput, "replicas[0].replicas"},
			"no components":               {`mutation ($d: ID!) { stopComponents(deploymentId: $d, components: []) { id } }`, nil, server.CodeInvalidInput, "components"},
			"a null among components":     {`mutation ($d: ID!) { stopComponents(deploymentId: $d, components: [null]) { id } }`, nil, server.CodeInvalidInput, "components[0]"},
			"a job that is none":          {`mutation ($d: ID!) { runJob(deploymentId: $d, job: "none") { id } }`, nil, server.CodeInvalidInput, "job"},
			"an empty version":            {`mutation ($d: ID!) { updateDeploymentVersion(id: $d, version: "") { id } }`, nil, server.CodeInvalidInput, "version"},
			"an empty key":                {`mutation ($d: ID!) { deleteDeployment(id: $d, idempotencyKey: "") { id } }`, nil, server.CodeInvalidInput, "idempotencyKey"},
			"a lease of nothing":          {`mutation ($c: ID!) { claimTask(clusterId: $c, workerId: "w", leaseSeconds: 0) { name } }`, nil, server.CodeInvalidInput, "leaseSeconds"},
			"a lease of a week":           {`mutation ($c: ID!) { claimTask(clusterId: $c, workerId: "w", leaseSeconds: 604800) { name } }`, nil, server.CodeInvalidInput, "leaseSeconds"},
			"a worker without a name":     {`mutation ($c: ID!) { claimTask(clusterId: $c, workerId: "") { name } }`, nil, server.CodeInvalidInput, "workerId"},
			"a step before the claim":     {`mutation ($t: ID!) { startStep(taskId: $t, workerId: "w", stepId: "x") { id } }`, nil, server.CodeConflict, ""},
			"a page of nothing":           {`query ($d: ID!) { deployment(id: $d) { tasks(first: 0) { id } } }`, nil, server.CodeInvalidInput, "first"},
			"an end that is none":         {`mutation ($t: ID!) { finishTask(taskId: $t, workerId: "w", status: RUNNING) { id } }`, nil, server.CodeInvalidInput, "status"},
			"a cluster name that is bad":  {`mutation { createCluster(input: {name: "Demo Cluster"}) { agentToken } }`, nil, server.CodeInvalidInput, "input.name"},
			"a token without a name":      {`mutation { createToken(name: " ", role: VIEWER) { secret } }`, nil, server.CodeInvalidInput, "name"},
			"a token of no role":          {`mutation { createToken(name: "x", role: AGENT) { secret } }`, nil, server.CodeInvalidInput, "role"},
		} {
			t.Run(name, func(t *testing.T) {
				if test.variables == nil {
					test.variables = map[string]any{"d": p.deployment, "c": p.cluster.ID, "t": create}
				}
				got := p.call(server.RoleAdmin, test.query, test.variables)
				if len(got.Errors) == 0 || got.code() != string(test.code) || got.Errors[0].Extensions.Field != test.field {
					t.Errorf("got %s, want %s of %q", got.body, test.code, test.field)
				}
				if diff := cmp.Diff(dump, storetest.Dump(t, url)); diff != "" {
					t.Errorf("the call changed the database:\n%s", diff)
				}
			})
		}
	})
}

// badCall is a mutation of which one argument, or a part of it, is wrong.
type badCall struct {
	name, query string
	variables   map[string]any
}

// TestR15EveryMutationRefusesBadArguments sends to every mutation of the contract,
// for every argument and every field of its input objects, what is not of its
// type: nothing, null, a word, a list, an object, numbers of every size. Each is
// refused by the field at fault, and the database stays as it is.
func TestR15EveryMutationRefusesBadArguments(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		a := newAPI(t, url, Options{})
		schema := NewExecutableSchema(Config{}).Schema()
		before := storetest.Dump(t, url)
		for _, field := range schema.Mutation.Fields {
			calls := badCallsOf(schema, field)
			if len(calls) < 3 {
				t.Errorf("%s is tried with %d bad calls", field.Name, len(calls))
			}
			for _, bad := range calls {
				got := a.call(server.RoleAdmin, bad.query, bad.variables)
				if len(got.Errors) == 0 || got.code() != string(server.CodeInvalidInput) || got.Errors[0].Extensions.Field != bad.name {
					t.Errorf("%s, bad %s %v: got %.300s", field.Name, bad.name, bad.variables, got.body)
				}
				for _, word := range []string{"json.", "strconv", "interface", "map["} {
					if strings.Contains(got.body, word) {
						t.Errorf("the refusal speaks Go: %s", got.body)
					}
				}
			}
		}
		if diff := cmp.Diff(before, storetest.Dump(t, url)); diff != "" {
			t.Errorf("the calls changed the database:\n%s", diff)
		}
	})
}

// badCallsOf makes the bad calls of a mutation, each with one fault.
func badCallsOf(schema *ast.Schema, field *ast.FieldDefinition) []badCall {
	declared, passed := make([]string, 0, len(field.Arguments)), make([]string, 0, len(field.Arguments))
	good := map[string]any{}
	for _, argument := range field.Arguments {
		declared = append(declared, fmt.Sprintf("$%s: %s", argument.Name, argument.Type))
		passed = append(passed, fmt.Sprintf("%s: $%s", argument.Name, argument.Name))
		if argument.Type.NonNull && argument.DefaultValue == nil {
			good[argument.Name] = goodValue(schema, argument.Type)
		}
	}
	selection := ""
	if schema.Types[field.Type.Name()].Kind == ast.Object {
		selection = " { __typename }"
	}
	query := fmt.Sprintf("mutation (%s) { %s(%s)%s }", strings.Join(declared, ", "), field.Name, strings.Join(passed, ", "), selection)
	var calls []badCall
	for _, argument := range field.Arguments {
		for _, bad := range badValues(schema, argument.Type, argument.DefaultValue != nil) {
			calls = append(calls, badCall{argument.Name + bad.path, query, merged(good, argument.Name, bad.value)})
		}
	}
	return calls
}

// goodValue is the least that the type takes.
func goodValue(schema *ast.Schema, typ *ast.Type) any {
	if typ.Elem != nil {
		return []any{}
	}
	definition := schema.Types[typ.NamedType]
	switch definition.Kind {
	case ast.Enum:
		return definition.EnumValues[0].Name
	case ast.InputObject:
		object := map[string]any{}
		for _, field := range definition.Fields {
			if field.Type.NonNull && field.DefaultValue == nil {
				object[field.Name] = goodValue(schema, field.Type)
			}
		}
		return object
	}
	return map[string]any{
		"ID": "x", "String": "x", "Int": 1, "Long": 1, "Boolean": true, "Time": "2026-11-29T12:00:00Z", "JSON": map[string]any{},
	}[typ.NamedType]
}

// badValue is a value of a wrong type, and where in it the fault is.
type badValue struct {
	path  string
	value any
}

// badScalars are what the types do not take.
var badScalars = map[string][]any{
	"ID":      {true, []any{"x", "y"}, map[string]any{}},
	"String":  {7, true, []any{"x", "y"}, map[string]any{}},
	"Int":     {"many", 1.5, true, json.Number("9223372036854775808"), json.Number("1e400"), map[string]any{}},
	"Long":    {"many", 1.5, json.Number("9223372036854775808"), json.Number("-99999999999999999999")},
	"Boolean": {"yes", 1, []any{true, false}},
	"Time":    {"yesterday", 1700000000, "2026-11-29T12:00:00", "", true},
}

// badValues are wrong values of the type, and good ones with one wrong part. A
// default stands in where nothing is sent, but not for null.
func badValues(schema *ast.Schema, typ *ast.Type, hasDefault bool) []badValue {
	var bad []badValue
	if typ.NonNull {
		bad = append(bad, badValue{"", nil})
	}
	if typ.Elem != nil {
		for _, element := range badValues(schema, typ.Elem, false) {
			if element.value != nil || typ.Elem.NonNull {
				bad = append(bad, badValue{"[1]" + element.path, []any{goodValue(schema, typ.Elem), element.value}})
			}
		}
		return bad
	}
	definition := schema.Types[typ.NamedType]
	switch definition.Kind {
	case ast.Enum:
		return append(bad, badValue{"", "ODD"}, badValue{"", strings.ToLower(definition.EnumValues[0].Name)}, badValue{"", 7})
	case ast.InputObject:
		object := goodValue(schema, typ).(map[string]any)
		bad = append(bad, badValue{"", "x"}, badValue{"", 7}, badValue{".odd", merged(object, "odd", "x")})
		for _, field := range definition.Fields {
			if field.Type.NonNull && field.DefaultValue == nil {
				without := maps.Clone(object)
				delete(without, field.Name)
				bad = append(bad, badValue{"." + field.Name, without})
			}
			for _, part := range badValues(schema, field.Type, field.DefaultValue != nil) {
				bad = append(bad, badValue{"." + field.Name + part.path, merged(object, field.Name, part.value)})
			}
		}
		return bad
	}
	for _, value := range badScalars[typ.NamedType] {
		bad = append(bad, badValue{"", value})
	}
	return bad
}
