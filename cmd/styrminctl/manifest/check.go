// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/agnivade/levenshtein"
	yaml "go.yaml.in/yaml/v3"
	batchv1 "k8s.io/api/batch/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// checker compares a document with the Go type that its spec is read into, and
// collects the faults.
type checker struct {
	file   string
	faults []error
	// values counts what was made of aliases, too, which can stand for very much.
	values int
}

func (c *checker) fault(at *yaml.Node, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s:%d: %s", c.file, at.Line, fmt.Sprintf(format, args...)))
}

func (c *checker) err() error { return errors.Join(c.faults...) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// check compares a node with a type: unknown fields and values of a wrong type
// are faults. Null is as good as nothing.
func (c *checker) check(node *yaml.Node, typ reflect.Type, path string) {
	node = resolve(node)
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case isNull(node):
	case reflect.PointerTo(typ).Implements(unmarshaler):
		c.decode(node, typ, path)
	case typ.Kind() == reflect.Struct:
		c.checkStruct(node, typ, path)
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8:
		if !c.mustBe(node, yaml.SequenceNode, path, "a list") {
			return
		}
		for i, element := range node.Content {
			c.check(element, typ.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case typ.Kind() == reflect.Map:
		if !c.mustBe(node, yaml.MappingNode, path, "an object") {
			return
		}
		for _, field := range c.fields(node) {
			c.check(field.value, typ.Elem(), path+"."+field.name)
		}
	case typ.Kind() != reflect.Interface:
		c.checkScalar(node, typ, path)
	}
}

func (c *checker) mustBe(node *yaml.Node, kind yaml.Kind, path, what string) bool {
	if node.Kind != kind {
		c.fault(node, "%s must be %s", path, what)
	}
	return node.Kind == kind
}

func (c *checker) checkStruct(node *yaml.Node, typ reflect.Type, path string) {
	if !c.mustBe(node, yaml.MappingNode, path, "an object") {
		return
	}
	known := fieldsOf(typ)
	for _, field := range c.fields(node) {
		inner, ok := known[field.name]
		if !ok {
			c.fault(field.key, "unknown field %q%s", path+"."+field.name, suggestion(field.name, known))
			continue
		}
		if typ == reflect.TypeFor[styrminv1.JobSpec]() && field.name == "template" {
			inner = reflect.TypeFor[batchv1.JobSpec]() // that is what the API server will read
		}
		c.check(field.value, inner, path+"."+field.name)
	}
}

// fieldsOf are the fields of a struct by their names in JSON; those of a struct
// that it embeds without a name are its own.
func fieldsOf(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			maps.Copy(fields, fieldsOf(field.Type))
		case name != "" && name != "-":
			fields[name] = field.Type
		}
	}
	return fields
}

// suggestion is the known name that was probably meant, if there is one.
func suggestion(name string, known map[string]reflect.Type) string {
	best, least := "", 3
	for candidate := range known {
		distance := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(candidate))
		if distance < least || distance == least && candidate < best {
			best, least = candidate, distance
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

func (c *checker) checkScalar(node *yaml.Node, typ reflect.Type, path string) {
	if !c.mustBe(node, yaml.ScalarNode, path, describe(typ)) {
		return
	}
	tag := node.ShortTag()
	switch typ.Kind() {
	case reflect.String, reflect.Slice:
		// A version like 2.10 would lose its zero as a number.
		if tag != "!!str" && tag != "!!timestamp" {
			c.fault(node, "%s must be text: write %s in quotes", path, node.Value)
		}
		return
	case reflect.Bool:
		if tag == "!!bool" {
			return
		}
	case reflect.Float32, reflect.Float64:
		if tag == "!!float" || tag == "!!int" {
			return
		}
	default:
		if tag == "!!int" {
			c.decode(node, typ, path) // it may be too large
			return
		}
	}
	c.fault(node, "%s must be %s, not %q", path, describe(typ), node.Value)
}

func describe(typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.String, reflect.Slice:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// decode leaves it to the type to judge a value.
func (c *checker) decode(node *yaml.Node, typ reflect.Type, path string) {
	faults := len(c.faults)
	value := c.value(node)
	if len(c.faults) > faults {
		return
	}
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, reflect.New(typ).Interface())
	}
	if err != nil {
		c.fault(node, "%s: %s", path, strings.TrimPrefix(err.Error(), "json: "))
	}
}
