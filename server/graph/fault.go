// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
)

// typeWords are the library's words for a value of the wrong type. They name the
// types by which the program holds the value, which may be others than it was
// sent in.
var typeWords = regexp.MustCompile(`^(?:cannot use (?:\w+|value \S+) as|must be an?) (\w+)(?:, not an? \w+)?$`)

// withoutTypeWords says of which type a value must be, and no more.
func withoutTypeWords(message string) string {
	return typeWords.ReplaceAllString(message, "is no $1")
}

// faultOf names the variable or the argument at fault, as
// namespaces[0].pods[1].uid, by the path of the library's own error: "variable",
// or the field that the argument belongs to, leads it. Empty: the error is about
// none.
func faultOf(err *gqlerror.Error, query string) string {
	switch {
	case len(err.Path) > 1:
		return fieldName(err.Path[1:])
	case len(err.Path) == 0 && len(err.Locations) > 0:
		return literalAt(query, err.Locations[0])
	}
	return ""
}

// argumentOf names the field at fault of a refusal as the call that was refused
// names it: the rules know no input objects, and call each id by what it is of.
func argumentOf(ctx context.Context, field string) string {
	call := graphql.GetFieldContext(ctx)
	if call == nil || field == "" {
		return field
	}
	name := field
	if end := strings.IndexAny(field, ".["); end >= 0 {
		name = field[:end]
	}
	has := func(argument string) bool { _, has := call.Args[argument]; return has }
	switch {
	case has(name):
		return field
	case strings.HasSuffix(name, "Id") && has("id"):
		return "id"
	case has("input"):
		return "input." + field
	}
	return field
}

func fieldName(path ast.Path) string {
	var name strings.Builder
	for _, element := range path {
		switch element := element.(type) {
		case ast.PathName:
			if name.Len() > 0 {
				name.WriteByte('.')
			}
			name.WriteString(string(element))
		case ast.PathIndex:
			fmt.Fprintf(&name, "[%d]", element)
		}
	}
	return name.String()
}

// literalAt names the argument, or the part of it, that stands at the place in
// the operation's text.
func literalAt(query string, at gqlerror.Location) string {
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, maxTokens)
	if err != nil {
		return ""
	}
	for _, operation := range document.Operations {
		if path := literalIn(operation.SelectionSet, at); path != nil {
			return fieldName(path)
		}
	}
	return ""
}

func literalIn(selections ast.SelectionSet, at gqlerror.Location) ast.Path {
	for _, selection := range selections {
		field, isField := selection.(*ast.Field)
		if !isField {
			continue
		}
		for _, argument := range field.Arguments {
			if path := placeIn(argument.Value, at, ast.Path{ast.PathName(argument.Name)}); path != nil {
				return path
			}
		}
		if path := literalIn(field.SelectionSet, at); path != nil {
			return path
		}
	}
	return nil
}

// placeIn looks for the place in a value, whose own path it is given.
func placeIn(value *ast.Value, at gqlerror.Location, path ast.Path) ast.Path {
	for i, child := range value.Children {
		step := ast.PathElement(ast.PathIndex(i))
		if child.Name != "" {
			step = ast.PathName(child.Name)
		}
		if found := placeIn(child.Value, at, append(path[:len(path):len(path)], step)); found != nil {
			return found
		}
		if child.Position != nil && child.Position.Line == at.Line && child.Position.Column == at.Column {
			return append(path[:len(path):len(path)], step)
		}
	}
	if value.Position != nil && value.Position.Line == at.Line && value.Position.Column == at.Column {
		return path
	}
	return nil
}
