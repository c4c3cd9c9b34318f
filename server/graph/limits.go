// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"

	"github.com/99designs/gqlgen/complexity"
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// What an operation may cost. The longest introspection queries of the usual
// tools stay below all of them.
const (
	maxTokens     = 15_000
	maxDepth      = 16
	maxFields     = 1_000
	maxAliases    = 100
	maxComplexity = 1_000_000
)

// limits refuses operations that ask for too much, before any of it runs.
type limits struct{ schema graphql.ExecutableSchema }

var (
	_ graphql.HandlerExtension          = (*limits)(nil)
	_ graphql.OperationParameterMutator = (*limits)(nil)
	_ graphql.OperationContextMutator   = (*limits)(nil)
)

func (*limits) ExtensionName() string { return "Limits" }

func (l *limits) Validate(schema graphql.ExecutableSchema) error {
	l.schema = schema
	return nil
}

// MutateOperationParameters counts before the operation is validated, since the
// time that a validation takes grows with the square of the fields.
func (*limits) MutateOperationParameters(_ context.Context, params *graphql.RawParams) *gqlerror.Error {
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: params.Query}, maxTokens)
	if err != nil {
		return nil //nolint:nilerr // The executor parses it again, and says what is wrong.
	}
	count := selectionCount{fragments: document.Fragments}
	for _, operation := range document.Operations {
		if err := count.add(operation.SelectionSet, 1); err != nil {
			return err
		}
	}
	// Fragments that no operation holds are validated as well.
	for _, fragment := range document.Fragments {
		if err := count.add(fragment.SelectionSet, 1); err != nil {
			return err
		}
	}
	return nil
}

func (l *limits) MutateOperationContext(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	if cost := complexity.Calculate(ctx, l.schema, op.Operation, op.Variables); cost > maxComplexity {
		return refusal(server.CodeTooLarge, "the operation may answer %d values, at most %d are allowed", cost, maxComplexity)
	}
	return nil
}

// selectionCount walks operations with their fragments and stops at the first
// limit, so that fragments that hold each other, or themselves, cost no more.
type selectionCount struct {
	fragments       ast.FragmentDefinitionList
	fields, aliases int
}

func (c *selectionCount) add(selections ast.SelectionSet, depth int) *gqlerror.Error {
	if depth > maxDepth {
		return refusal(server.CodeTooLarge, "the operation is more than %d levels deep", maxDepth)
	}
	for _, selection := range selections {
		c.fields++
		if c.fields > maxFields {
			return refusal(server.CodeTooLarge, "the operation has more than %d fields", maxFields)
		}
		if err := c.addOne(selection, depth); err != nil {
			return err
		}
	}
	return nil
}

func (c *selectionCount) addOne(selection ast.Selection, depth int) *gqlerror.Error {
	switch selection := selection.(type) {
	case *ast.Field:
		if selection.Alias != selection.Name {
			c.aliases++
		}
		if c.aliases > maxAliases {
			return refusal(server.CodeTooLarge, "the operation has more than %d aliases", maxAliases)
		}
		return c.add(selection.SelectionSet, depth+1)
	case *ast.InlineFragment:
		return c.add(selection.SelectionSet, depth)
	case *ast.FragmentSpread:
		// An unknown fragment is for the validation to tell.
		if fragment := c.fragments.ForName(selection.Name); fragment != nil {
			return c.add(fragment.SelectionSet, depth)
		}
	}
	return nil
}

// Lists whose length the operation does not say count as this many.
const (
	usualDeployments = 100
	usualPods        = 20
	usualSteps       = 8
	usualHookTasks   = 2
)

// costs says how the lists multiply what is asked of each of their elements.
func costs() ComplexityRoot {
	var c ComplexityRoot
	page := func(children, first int) int { return 1 + children*max(first, 1) }
	usual := func(n int) func(int) int { return func(children int) int { return 1 + children*n } }
	c.Query.PodStatuses = func(children int, _ *store.PodStatusFilter, first int, _ *string) int { return page(children, first) }
	c.Query.DeploymentStatuses = func(children int, _ *store.DeploymentStatusFilter, first int, _ *string) int {
		return page(children, first)
	}
	c.Query.Deployments = func(children int, _ *store.DeploymentFilter) int { return 1 + children*usualDeployments }
	c.Deployment.Tasks = page
	c.Deployment.Pods = usual(usualPods)
	c.Task.Steps = usual(usualSteps)
	c.Step.Tasks = usual(usualHookTasks)
	return c
}
