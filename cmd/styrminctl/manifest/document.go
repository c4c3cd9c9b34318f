// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads the files that styrminctl applies: StyrminDeployments as
// YAML or JSON, one or several documents. Every fault that can be found without
// a server is told with its file and line.
package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// Kind is the kind of the documents.
const Kind = "StyrminDeployment"

// objectNamespace is where the agent writes StyrminDeployments.
const objectNamespace = "styrmin"

// Document is a deployment as a file declares it.
type Document struct {
	// Name and Environment name the deployment.
	Name, Environment string
	// Internal marks a deployment of the platform itself.
	Internal bool
	// Spec is the StyrminDeployment's, as JSON.
	Spec json.RawMessage

	file string
	root *yaml.Node
}

// Read reads all documents of a file, whose name is for messages. Its error
// names every fault on a line of its own, as FILE:LINE: what is wrong.
func Read(file string, content io.Reader) ([]*Document, error) {
	var documents []*Document
	var faults []error
	for decoder := yaml.NewDecoder(content); ; {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			return documents, errors.Join(faults...)
		}
		if err != nil {
			return nil, errors.Join(append(faults, syntaxError(file, err))...)
		}
		if isEmpty(&node) {
			continue
		}
		document, err := read(file, node.Content[0])
		if err != nil {
			faults = append(faults, err)
			continue
		}
		documents = append(documents, document)
	}
}

func isEmpty(node *yaml.Node) bool {
	return node.Kind != yaml.DocumentNode || len(node.Content) == 0 || isNull(node.Content[0])
}

// inLine is where the library says that a document is no YAML.
var inLine = regexp.MustCompile(`^yaml: line (\d+): (.*)$`)

func syntaxError(file string, err error) error {
	if found := inLine.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("%s:%s: %s", file, found[1], found[2])
	}
	return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
}

// read checks one document.
func read(file string, root *yaml.Node) (*Document, error) {
	d := &Document{file: file, root: root}
	c := &checker{file: file}
	if root.Kind != yaml.MappingNode {
		c.fault(root, "a document must be an object with apiVersion, kind, metadata and spec")
		return nil, c.err()
	}
	fields := map[string]*yaml.Node{}
	for _, field := range c.fields(root) {
		fields[field.name] = field.value
		switch field.name {
		case "apiVersion", "kind", "metadata", "spec":
		case "status":
			c.fault(field.key, "status is what the operator finds out: leave it out")
		default:
			c.fault(field.key, "unknown field %q", field.name)
		}
	}
	c.mustSay(root, fields, "apiVersion", styrminv1.GroupVersion.String())
	c.mustSay(root, fields, "kind", Kind)
	if len(c.faults) > 0 {
		return nil, c.err() // what follows may be about something else
	}
	d.Name = c.metadata(root, fields["metadata"])
	c.spec(d, fields["spec"])
	return d, c.err()
}

// mustSay checks a field that has one value only.
func (c *checker) mustSay(root *yaml.Node, fields map[string]*yaml.Node, name, want string) {
	switch value := fields[name]; {
	case value == nil:
		c.fault(root, "%s is missing: it must be %s", name, want)
	case resolve(value).Value != want:
		c.fault(value, "%s is %q: it must be %s", name, resolve(value).Value, want)
	}
}

// metadata reads the deployment's name. What the server would not keep is
// refused rather than lost.
func (c *checker) metadata(root, node *yaml.Node) string {
	if node == nil || resolve(node).Kind != yaml.MappingNode {
		c.fault(orElse(node, root), "metadata.name is missing: it is the deployment's name")
		return ""
	}
	name, found := "", false
	for _, field := range c.fields(node) {
		value := resolve(field.value)
		switch field.name {
		case "name":
			found = true
			if c.check(value, reflect.TypeFor[string](), "metadata.name"); len(c.faults) > 0 {
				continue
			}
			name = value.Value
			for _, wrong := range validation.IsDNS1123Label(name) {
				c.fault(value, "metadata.name: %s", wrong)
			}
		case "namespace":
			if value.Value != objectNamespace {
				c.fault(field.key, "metadata.namespace: the agent writes to the namespace %s; "+
					"what runs goes to spec.targetNamespace", objectNamespace)
			}
		default:
			c.fault(field.key, "metadata.%s is not kept by the server: leave it out", field.name)
		}
	}
	if !found {
		c.fault(node, "metadata.name is missing: it is the deployment's name")
	}
	return name
}

// spec reads the spec, and from it what the server wants beside it.
func (c *checker) spec(d *Document, node *yaml.Node) {
	if node == nil || isNull(resolve(node)) {
		c.fault(d.root, "spec is missing")
		return
	}
	typ := reflect.TypeFor[styrminv1.StyrminDeploymentSpec]()
	c.check(node, typ, "spec")
	if len(c.faults) > 0 {
		return
	}
	for _, field := range c.fields(resolve(node)) {
		if field.name == "deploymentId" || field.name == "instanceId" {
			c.fault(field.key, "spec.%s is set by the server: leave it out", field.name)
		}
	}
	encoded, err := json.Marshal(c.value(node))
	if err != nil {
		c.fault(node, "spec: %v", err)
		return
	}
	var typed struct {
		Environment string
		Internal    bool
	}
	if err := json.Unmarshal(encoded, &typed); err != nil {
		c.fault(node, "spec: %v", err)
		return
	}
	if typed.Environment == "" {
		c.fault(node, "spec.environment is missing")
	}
	d.Environment, d.Internal, d.Spec = typed.Environment, typed.Internal, encoded
}

// At says where a field is, as FILE:LINE, by a path like spec.components[1].name;
// where the document does not have it, where the nearest one above is.
func (d *Document) At(path string) string {
	node := d.root
	line := node.Line
	c := &checker{file: d.file}
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next, at := c.child(resolve(node), name)
		if next == nil {
			break
		}
		node, line = next, at
	}
	return fmt.Sprintf("%s:%d", d.file, line)
}

func orElse(node, other *yaml.Node) *yaml.Node {
	if node == nil {
		return other
	}
	return node
}
