// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/styrmin/styrmin/server"
)

// The groups of callers that the table is made of. An admin may do everything.
var (
	admins    = []server.Role{server.RoleAdmin}
	readers   = []server.Role{server.RoleAdmin, server.RoleViewer}
	everyone  = []server.Role{server.RoleAdmin, server.RoleViewer, server.RoleAgent}
	flows     = []server.Role{server.RoleAdmin, server.RoleAgent}
	reporters = []server.Role{server.RoleAdmin, server.RoleAgent, server.RoleAnonymous}
)

// access is the role table: who may call which root field. A field that is
// missing here can be called by no one. That an agent is kept to its own cluster
// is checked where the row is known.
var access = map[string][]server.Role{
	"Query.server":             everyone,
	"Query.tokens":             admins,
	"Query.clusters":           everyone,
	"Query.cluster":            readers,
	"Query.deployments":        everyone,
	"Query.deployment":         everyone,
	"Query.task":               everyone,
	"Query.podStatuses":        readers,
	"Query.deploymentStatuses": readers,
	"Query.__schema":           everyone,
	"Query.__type":             everyone,

	"Mutation.openReportSession":        reporters,
	"Mutation.reportPodStatuses":        reporters,
	"Mutation.reportDeploymentStatuses": reporters,

	"Mutation.createCluster":    admins,
	"Mutation.rotateAgentToken": admins,
	"Mutation.createToken":      admins,
	"Mutation.revokeToken":      admins,

	"Mutation.createDeployment":        admins,
	"Mutation.updateDeployment":        admins,
	"Mutation.scaleDeployment":         admins,
	"Mutation.updateDeploymentVersion": admins,
	"Mutation.deleteDeployment":        admins,
	"Mutation.startComponents":         admins,
	"Mutation.stopComponents":          admins,
	"Mutation.runJob":                  admins,

	"Mutation.claimTask":             flows,
	"Mutation.renewTaskLease":        flows,
	"Mutation.startStep":             flows,
	"Mutation.finishStep":            flows,
	"Mutation.startHookTask":         flows,
	"Mutation.recordSpecWrite":       flows,
	"Mutation.recordDeletionRequest": flows,
	"Mutation.finishTask":            flows,
}

// The names that the table and the check share with the schema.
const (
	queryType    = "Query"
	mutationType = "Mutation"
	typeName     = "__typename"
)

// roleCheck refuses an operation of which the caller may not call every field,
// before any of them runs.
type roleCheck struct{}

var (
	_ graphql.HandlerExtension        = roleCheck{}
	_ graphql.OperationContextMutator = roleCheck{}
)

func (roleCheck) ExtensionName() string { return "Roles" }

func (roleCheck) Validate(graphql.ExecutableSchema) error { return nil }

func (roleCheck) MutateOperationContext(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	caller := callerOf(ctx)
	root := queryType
	if op.Operation.Operation == ast.Mutation {
		root = mutationType
	}
	for _, field := range graphql.CollectFields(op, op.Operation.SelectionSet, []string{root}) {
		if field.Name == typeName || slices.Contains(access[root+"."+field.Name], caller.Role) {
			continue
		}
		if caller.Role == server.RoleAnonymous {
			return refusal(server.CodeUnauthenticated, "%s needs a token", field.Name)
		}
		return refusal(server.CodeForbidden, "a token of the role %s may not call %s", caller.Role, field.Name)
	}
	op.DisableIntrospection = caller.Role == server.RoleAnonymous
	return nil
}

type callerKey struct{}

func withCaller(ctx context.Context, caller server.Identity) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// callerOf returns who calls; whoever is not known may do nothing.
func callerOf(ctx context.Context) server.Identity {
	caller, _ := ctx.Value(callerKey{}).(server.Identity)
	return caller
}
