// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestEachRoleMayCallWhatTheTableSays calls every field of the contract as every
// role: the sets below are written out, not taken from the table.
func TestEachRoleMayCallWhatTheTableSays(t *testing.T) {
	agentsToo := []string{"server", "clusters", "deployments", "deployment", "task"}
	reports := []string{"openReportSession", "reportPodStatuses", "reportDeploymentStatuses"}
	flow := []string{
		"claimTask", "renewTaskLease", "startStep", "finishStep", "startHookTask", "recordSpecWrite", "recordDeletionRequest", "finishTask",
	}
	viewers := append([]string{"cluster", "podStatuses", "deploymentStatuses"}, agentsToo...)
	allowed := map[server.Role][]string{
		server.RoleAnonymous: reports,
		server.RoleAgent:     slices.Concat(agentsToo, reports, flow),
		server.RoleViewer:    viewers,
	}
	a := newAPI(t, storetest.SQLite(t), Options{AllowAnonymousReports: true})
	schema := NewExecutableSchema(Config{}).Schema()
	var fields []*ast.FieldDefinition
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, field := range root.Fields {
			if !strings.HasPrefix(field.Name, "__") {
				fields = append(fields, field)
			}
		}
	}
	if len(fields) != 32 {
		t.Errorf("the contract has %d root fields, the sets of this test know 32", len(fields))
	}
	for _, role := range []server.Role{server.RoleAnonymous, server.RoleAgent, server.RoleViewer, server.RoleAdmin} {
		for _, field := range fields {
			t.Run(fmt.Sprintf("%s %s", role, field.Name), func(t *testing.T) {
				got := a.call(role, operationOn(schema, field), nil)
				may := role == server.RoleAdmin || slices.Contains(allowed[role], field.Name)
				refused := got.status == http.StatusForbidden || got.status == http.StatusUnauthorized
				if refused == may {
					t.Errorf("may call it: %v, but got %d %.200s", may, got.status, got.body)
				}
			})
		}
	}
}

// operationOn writes an operation with the least arguments that the schema takes.
func operationOn(schema *ast.Schema, field *ast.FieldDefinition) string {
	kind := "query"
	if schema.Mutation.Fields.ForName(field.Name) != nil {
		kind = "mutation"
	}
	arguments := literalsOf(schema, field.Arguments, "(", ")")
	selection := ""
	if definition := schema.Types[field.Type.Name()]; definition.Kind == ast.Object {
		selection = " { __typename }"
	}
	return fmt.Sprintf("%s { %s%s%s }", kind, field.Name, arguments, selection)
}

func literalsOf(schema *ast.Schema, arguments ast.ArgumentDefinitionList, open, end string) string {
	var parts []string
	for _, argument := range arguments {
		if argument.Type.NonNull && argument.DefaultValue == nil {
			parts = append(parts, argument.Name+": "+literal(schema, argument.Type))
		}
	}
	if parts == nil {
		return ""
	}
	return open + strings.Join(parts, ", ") + end
}

func literal(schema *ast.Schema, typ *ast.Type) string {
	if typ.Elem != nil {
		return "[]"
	}
	definition := schema.Types[typ.NamedType]
	switch definition.Kind {
	case ast.Enum:
		return definition.EnumValues[0].Name
	case ast.InputObject:
		var fields ast.ArgumentDefinitionList
		for _, field := range definition.Fields {
			fields = append(fields, &ast.ArgumentDefinition{Name: field.Name, Type: field.Type, DefaultValue: field.DefaultValue})
		}
		return literalsOf(schema, fields, "{", "}")
	}
	return map[string]string{
		"Int": "1", "Long": "1", "Boolean": "true", "Time": `"2026-11-29T12:00:00Z"`, "JSON": "{}",
	}[typ.NamedType] + map[bool]string{true: `"x"`}[slices.Contains([]string{"ID", "String"}, typ.NamedType)]
}

func TestEveryRootFieldIsInTheRoleTable(t *testing.T) {
	schema := NewExecutableSchema(Config{}).Schema()
	known := map[string]bool{}
	for root, definition := range map[string]*ast.Definition{queryType: schema.Query, mutationType: schema.Mutation} {
		for _, field := range definition.Fields {
			known[root+"."+field.Name] = true
			if _, listed := access[root+"."+field.Name]; !listed {
				t.Errorf("%s.%s can be called by no one", root, field.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(access)) {
		if !known[name] {
			t.Errorf("the table names %s, which the contract does not have", name)
		}
	}
}

func TestOneForbiddenFieldStopsTheWholeOperation(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	for name, query := range map[string]string{
		"beside an allowed one":    `mutation { claimTask(clusterId: "x", workerId: "w") { leaseExpiresAt } createCluster(input: {name: "c2"}) { agentToken } }`,
		"behind an alias":          `mutation { claimTask: createCluster(input: {name: "c2"}) { agentToken } }`,
		"in a fragment":            `mutation { ...f } fragment f on Mutation { createCluster(input: {name: "c2"}) { agentToken } }`,
		"in an inline fragment":    `mutation { ... on Mutation { ... { createCluster(input: {name: "c2"}) { agentToken } } } }`,
		"in the operation's shade": `query q { server { version } } mutation m { createCluster(input: {name: "c2"}) { agentToken } }`,
	} {
		t.Run(name, func(t *testing.T) {
			got := a.call(server.RoleAgent, query, nil)
			if len(got.Errors) == 0 || got.Data != nil {
				t.Errorf("got %s", got.body)
			}
		})
	}
	a.want("the clusters", 1, len(a.data(server.RoleAdmin, `{ clusters { id } }`, nil)["clusters"].([]any)))
}

func TestAnAgentReadsTheDeploymentsOfItsOwnClusterAlone(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	session := a.session(server.RoleAgent)
	const report = `mutation ($report: ReportHeader!) { reportDeploymentStatuses(report: $report, deployments: [{
		uid: "u", namespace: "styrmin", name: "shop", deploymentId: "u", instanceId: "i", generation: 1,
		phase: "Ready", displayState: "Running", conditions: []}]) { upserted } }`
	a.data(server.RoleAgent, report, map[string]any{"report": reportVariables(session, 1)["report"]})
	created := a.data(server.RoleAdmin, `mutation { createCluster(input: {name: "c2"}) { agentToken } }`, nil)
	own := a.tokens[server.RoleAgent]

	const all, one = `{ deployments { id } }`, `{ deployment(id: "u") { id } }`
	shop := map[string]any{"id": "u"}
	a.want("the agent's deployments", map[string]any{"deployments": []any{shop}}, a.data(server.RoleAgent, all, nil))
	a.want("the agent's deployment", map[string]any{"deployment": shop}, a.data(server.RoleAgent, one, nil))

	a.tokens[server.RoleAgent] = created["createCluster"].(map[string]any)["agentToken"].(string)
	a.want("another agent's deployments", map[string]any{"deployments": []any{}}, a.data(server.RoleAgent, all, nil))
	a.want("another agent's deployment", "FORBIDDEN", a.call(server.RoleAgent, one, nil).code())
	a.want("another cluster's deployments", "FORBIDDEN",
		a.call(server.RoleAgent, `query ($c: ID) { deployments(filter: {clusterId: $c}) { id } }`, map[string]any{"c": a.cluster.ID}).code())
	a.want("another cluster's session", "FORBIDDEN", a.call(server.RoleAgent, reportPods, reportVariables(session, 1)).code())

	a.data(server.RoleAdmin, `mutation ($c: ID!) { rotateAgentToken(clusterId: $c) { agentToken } }`, map[string]any{"c": a.cluster.ID})
	a.tokens[server.RoleAgent] = own
	a.wantRefused(a.call(server.RoleAgent, all, nil), server.CodeUnauthenticated, http.StatusUnauthorized)
	a.hasNoSecret()
}

// TestAnAgentSeesItsOwnClusterAlone: a token says by this which cluster it
// belongs to, however many deployments that has.
func TestAnAgentSeesItsOwnClusterAlone(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	a.data(server.RoleAdmin, `mutation { createCluster(input: {name: "c2"}) { agentToken } }`, nil)
	own := []any{map[string]any{"id": a.cluster.ID, "name": "c1"}}
	a.want("the clusters", map[string]any{"clusters": own}, a.data(server.RoleAgent, `{ clusters { id name } }`, nil))
}

func TestTokensAreMadeAndRevoked(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		a := newAPI(t, url, Options{})
		made := a.data(server.RoleAdmin, `mutation { createToken(name: "wallboard", role: VIEWER) { secret token { id name role } } }`, nil)
		payload := made["createToken"].(map[string]any)
		token := payload["token"].(map[string]any)
		id := map[string]any{"id": token["id"]}
		a.tokens["wallboard"] = payload["secret"].(string)
		a.data("wallboard", `{ clusters { id } }`, nil)
		const revoke = `mutation ($id: ID!) { revokeToken(id: $id) }`
		a.want("the answer", map[string]any{"revokeToken": true}, a.data(server.RoleAdmin, revoke, id))
		a.wantRefused(a.call("wallboard", `{ clusters { id } }`, nil), server.CodeUnauthenticated, http.StatusUnauthorized)
		a.want("a second time", "NOT_FOUND", a.call(server.RoleAdmin, revoke, id).code())

		left := a.data(server.RoleAdmin, `{ tokens { id name role } }`, nil)["tokens"].([]any)
		a.want("the tokens", 2, len(left))
		last := map[string]any{"id": left[1].(map[string]any)["id"]}
		a.want("the last admin's", "CONFLICT", a.call(server.RoleAdmin, revoke, last).code())
		a.want("a name that is taken", "CONFLICT",
			a.call(server.RoleAdmin, `mutation { createCluster(input: {name: "c1"}) { agentToken } }`, nil).code())
		a.hasNoSecret()
	})
}

func TestAnonymousReportsAreTakenWhereTheServerAllowsThem(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{AllowAnonymousReports: true})
	session := a.session(server.RoleAnonymous)
	a.data(server.RoleAnonymous, reportPods, reportVariables(session, 1, podInput("x", nil)))
	a.want("the rows", 1, a.podRows())
	a.wantRefused(a.call(server.RoleAnonymous, `{ podStatuses { uid } }`, nil), server.CodeUnauthenticated, http.StatusUnauthorized)
	a.tokens["wrong"] = "styrmin_wrong"
	a.wantRefused(a.call("wrong", `{ podStatuses { uid } }`, nil), server.CodeUnauthenticated, http.StatusUnauthorized)
	a.want("a session for no cluster", "INVALID_INPUT", a.call(server.RoleAnonymous,
		`mutation { openReportSession(input: {clusterUid: "u", agentId: "a", agentVersion: "1"}) { id } }`, nil).code())
	a.want("a session for an unknown cluster", "NOT_FOUND", a.call(server.RoleAnonymous,
		`mutation { openReportSession(input: {clusterId: "x", clusterUid: "u", agentId: "a", agentVersion: "1"}) { id } }`, nil).code())
}
