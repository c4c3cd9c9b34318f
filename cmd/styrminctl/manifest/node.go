// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// maxValues bounds a document: aliases of aliases can stand for more than there
// is memory.
const maxValues = 100_000

// field is a key of an object and its value.
type field struct {
	name       string
	key, value *yaml.Node
}

// resolve follows an alias.
func resolve(node *yaml.Node) *yaml.Node {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// fields are the fields of an object, those that it merges (<<) included unless
// it has them itself. A key that is there twice is a fault.
func (c *checker) fields(node *yaml.Node) []field {
	var fields, merged []field
	there := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, c.merged(value)...)
		case key.Kind != yaml.ScalarNode:
			c.fault(key, "a key must be text")
		case there[key.Value]:
			c.fault(key, "%q is there twice", key.Value)
		default:
			there[key.Value] = true
			fields = append(fields, field{key.Value, key, value})
		}
	}
	for _, field := range merged {
		if !there[field.name] {
			there[field.name] = true
			fields = append(fields, field)
		}
	}
	return fields
}

// merged are the fields that an object gets from others.
func (c *checker) merged(node *yaml.Node) []field {
	node = resolve(node)
	if !c.count(node) {
		return nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		return c.fields(node)
	case yaml.SequenceNode:
		var all []field
		for _, element := range node.Content {
			all = append(all, c.merged(element)...)
		}
		return all
	}
	c.fault(node, "only an object can be merged")
	return nil
}

// count counts one value more, and tells whether it is still within the bound.
// Beyond it is one fault, however much there is.
func (c *checker) count(node *yaml.Node) bool {
	c.values++
	if c.values == maxValues+1 {
		c.fault(node, "the document stands for too much")
	}
	return c.values <= maxValues
}

// child is a field or element of a node and its line, or nil.
func (c *checker) child(node *yaml.Node, name string) (child *yaml.Node, line int) {
	if node.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i].Line
		}
		return nil, 0
	}
	if node.Kind == yaml.MappingNode {
		for _, field := range c.fields(node) {
			if field.name == name {
				return field.value, field.key.Line
			}
		}
	}
	return nil, 0
}

// value is what a node stands for, as JSON has it. Dates stay the text that they
// are.
func (c *checker) value(node *yaml.Node) any {
	node = resolve(node)
	if !c.count(node) {
		return nil
	}
	switch node.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for _, field := range c.fields(node) {
			object[field.name] = c.value(field.value)
		}
		return object
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, element := range node.Content {
			list = append(list, c.value(element))
		}
		return list
	}
	return c.scalar(node)
}

// bool11 are the words that YAML 1.1, and so Helm and kubectl, take for truth
// values, and YAML 1.2 for text.
var bool11 = []string{"y", "n", "yes", "no", "on", "off"}

func (c *checker) scalar(node *yaml.Node) any {
	switch node.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(node.Value, "true")
	case "!!int", "!!float":
		return c.number(node)
	}
	if node.Style == 0 && slices.Contains(bool11, strings.ToLower(node.Value)) {
		c.fault(node, "%[1]s is a truth value for some and text for others: write true or false, or \"%[1]s\" in quotes", node.Value)
	}
	return node.Value
}

// number keeps the digits of a number that JSON can have as it is.
func (c *checker) number(node *yaml.Node) any {
	if json.Valid([]byte(node.Value)) {
		return json.Number(node.Value)
	}
	var number any
	err := node.Decode(&number)
	if err == nil {
		_, err = json.Marshal(number) // there is no infinity in JSON
	}
	if err != nil {
		c.fault(node, "%s is no number that JSON can have", node.Value)
		return nil
	}
	return number
}
