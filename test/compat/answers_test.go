// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
)

// answers compares the types of what a server answers to what a client selects.
type answers struct {
	server, client *ast.Schema
	fragments      ast.FragmentDefinitionList
	told           map[string]bool
	found          []string
}

// tell says each thing once, however often it is selected.
func (a *answers) tell(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !a.told[text] {
		a.told[text] = true
		a.found = append(a.found, text)
	}
}

// compare compares what is selected of a type, and all that it is made of.
func (a *answers) compare(parent string, selected ast.SelectionSet) {
	for _, selection := range selected {
		switch s := selection.(type) {
		case *ast.Field:
			a.compareField(parent, s)
		case *ast.InlineFragment:
			if s.TypeCondition != "" {
				a.compare(s.TypeCondition, s.SelectionSet)
			} else {
				a.compare(parent, s.SelectionSet)
			}
		case *ast.FragmentSpread:
			if fragment := a.fragments.ForName(s.Name); fragment != nil {
				a.compare(fragment.TypeCondition, fragment.SelectionSet)
			}
		}
	}
}

func (a *answers) compareField(parent string, field *ast.Field) {
	wanted, given := fieldOf(a.client, parent, field.Name), fieldOf(a.server, parent, field.Name)
	if wanted == nil || given == nil {
		return // The validator finds what the server does not know.
	}
	if !accepts(wanted.Type, given.Type, false) {
		a.tell("the client wants %s.%s as %s, the server answers %s", parent, field.Name, wanted.Type, given.Type)
	}
	name := wanted.Type.Name()
	if known, sent := a.client.Types[name], a.server.Types[name]; known != nil && sent != nil {
		for _, value := range sent.EnumValues {
			if known.EnumValues.ForName(value.Name) == nil {
				a.tell("the client does not know the value %s of %s", value.Name, name)
			}
		}
	}
	a.compare(name, field.SelectionSet)
}

// fieldOf is a field of a type, nil when there is none.
func fieldOf(schema *ast.Schema, parent, name string) *ast.FieldDefinition {
	if schema.Types[parent] == nil {
		return nil
	}
	return schema.Types[parent].Fields.ForName(name)
}

// root is the name of the type that operations of that kind select of.
func root(schema *ast.Schema, operation ast.Operation) string {
	of := schema.Query
	if operation == ast.Mutation {
		of = schema.Mutation
	}
	if of == nil {
		return ""
	}
	return of.Name
}
