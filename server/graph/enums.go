// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/styrmin/styrmin/server"
)

// exactWords refuses variables that hold a word of an enum in another case,
// which the library lets pass as it was sent: no rule knows it then.
type exactWords struct {
	schema *ast.Schema
	// fields are those of each input type in which an enum is somewhere, so that
	// a report's many other values are not looked at.
	fields map[string][]*ast.FieldDefinition
}

var (
	_ graphql.HandlerExtension        = (*exactWords)(nil)
	_ graphql.OperationContextMutator = (*exactWords)(nil)
)

func (*exactWords) ExtensionName() string { return "ExactWords" }

// Validate learns the types.
func (e *exactWords) Validate(schema graphql.ExecutableSchema) error {
	e.schema, e.fields = schema.Schema(), map[string][]*ast.FieldDefinition{}
	for name := range e.schema.Types {
		e.holdsWords(name)
	}
	return nil
}

// holdsWords tells whether the type is an enum or has one somewhere.
func (e *exactWords) holdsWords(name string) bool {
	definition := e.schema.Types[name]
	if definition.Kind != ast.InputObject {
		return definition.Kind == ast.Enum
	}
	if fields, known := e.fields[name]; known {
		return len(fields) > 0
	}
	var fields []*ast.FieldDefinition
	for _, field := range definition.Fields {
		if e.holdsWords(field.Type.Name()) {
			fields = append(fields, field)
		}
	}
	e.fields[name] = fields
	return len(fields) > 0
}

func (e *exactWords) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	for _, variable := range op.Operation.VariableDefinitions {
		if !e.holdsWords(variable.Type.Name()) {
			continue
		}
		if path := e.wrong(variable.Type, op.Variables[variable.Variable]); path != nil {
			field := fieldName(append(ast.Path{ast.PathName(variable.Variable)}, path...))
			return showRefusal(&gqlerror.Error{}, &server.Error{
				Code: server.CodeInvalidInput, Message: "is no word of " + e.typeAt(variable.Type, path),
			}, field)
		}
	}
	return nil
}

// wrong is where in the value a word is not one of its enum; nil: nowhere.
func (e *exactWords) wrong(typ *ast.Type, value any) ast.Path {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			if path := e.wrong(typ.Elem, element); path != nil {
				return append(ast.Path{ast.PathIndex(i)}, path...)
			}
		}
	case map[string]any:
		for _, field := range e.fields[typ.Name()] {
			if path := e.wrong(field.Type, value[field.Name]); path != nil {
				return append(ast.Path{ast.PathName(field.Name)}, path...)
			}
		}
	case string:
		if definition := e.schema.Types[typ.Name()]; definition.Kind == ast.Enum && definition.EnumValues.ForName(value) == nil {
			return ast.Path{}
		}
	}
	return nil
}

// typeAt is the name of the type at the path.
func (e *exactWords) typeAt(typ *ast.Type, path ast.Path) string {
	for _, element := range path {
		if name, isField := element.(ast.PathName); isField {
			typ = e.schema.Types[typ.Name()].Fields.ForName(string(name)).Type
		}
	}
	return typ.Name()
}
