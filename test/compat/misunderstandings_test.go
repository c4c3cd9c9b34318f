// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compat tells whether clients and a server of different versions
// understand each other, by their contracts.
package compat

import (
	"fmt"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// misunderstandings are the reasons for which a server and a client that was
// generated from another version of the contract do not work with each other: what
// the operations ask for, what the client may send as their variables, and what the
// server may answer.
func misunderstandings(server, client *ast.Schema, operations string) ([]string, error) {
	document, err := parser.ParseQuery(&ast.Source{Input: operations})
	if err != nil {
		return nil, fmt.Errorf("reading the operations: %w", err)
	}
	var found []string
	for _, refusal := range validator.ValidateWithRules(server, document, rules.NewDefaultRules()) {
		found = append(found, refusal.Message)
	}
	sent := inputs{server: server, client: client, seen: map[string]bool{}}
	answered := answers{server: server, client: client, fragments: document.Fragments, told: map[string]bool{}}
	for _, operation := range document.Operations {
		for _, variable := range operation.VariableDefinitions {
			sent.compare(variable.Type.Name())
		}
		answered.compare(root(client, operation.Operation), operation.SelectionSet)
	}
	return slices.Concat(found, sent.found, answered.found), nil
}

// inputs compares the types of what a client sends.
type inputs struct {
	server, client *ast.Schema
	seen           map[string]bool
	found          []string
}

func (i *inputs) tell(format string, args ...any) {
	i.found = append(i.found, fmt.Sprintf(format, args...))
}

// compare compares a type and all that it is made of.
func (i *inputs) compare(name string) {
	sent, taken := i.client.Types[name], i.server.Types[name]
	if i.seen[name] || sent == nil || taken == nil {
		return // Types that are not known are in the operations, where the validator finds them.
	}
	i.seen[name] = true
	for _, value := range sent.EnumValues {
		if taken.EnumValues.ForName(value.Name) == nil {
			i.tell("the server does not know the value %s of %s", value.Name, name)
		}
	}
	if sent.Kind != ast.InputObject {
		return
	}
	for _, field := range sent.Fields {
		known := taken.Fields.ForName(field.Name)
		switch {
		case known == nil:
			i.tell("the server does not know %s.%s", name, field.Name)
		case !accepts(known.Type, field.Type, known.DefaultValue != nil):
			i.tell("the server wants %s.%s as %s, the client sends %s", name, field.Name, known.Type, field.Type)
		}
		i.compare(field.Type.Name())
	}
	for _, field := range taken.Fields {
		if field.Type.NonNull && field.DefaultValue == nil && sent.Fields.ForName(field.Name) == nil {
			i.tell("the server needs %s.%s, which the client does not send", name, field.Name)
		}
	}
}

// accepts tells whether who wants the one type takes any value of the other. A
// default stands for a value that is not sent.
func accepts(wanted, sent *ast.Type, hasDefault bool) bool {
	if wanted.NonNull && !sent.NonNull && !hasDefault {
		return false
	}
	if (wanted.Elem == nil) != (sent.Elem == nil) {
		return false
	}
	if wanted.Elem != nil {
		return accepts(wanted.Elem, sent.Elem, false)
	}
	return wanted.NamedType == sent.NamedType || slices.Contains(widened[sent.NamedType], wanted.NamedType)
}

// widened are the types that take all values of another: the narrower one may be
// sent.
var widened = map[string][]string{"Int": {"Long", "Float"}, "ID": {"String"}, "String": {"ID"}}
