// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// spec is a StyrminDeployment's spec as JSON. It stays untyped so that fields
// which this server does not know yet survive a change; numbers keep their
// digits.
type spec map[string]any

func decodeSpec(raw json.RawMessage) (spec, error) {
	if !json.Valid(raw) {
		return nil, errors.New("not valid JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, err
	}
	object, ok := decoded.(map[string]any)
	if !ok {
		return nil, errors.New("must be an object")
	}
	return object, nil
}

func (s spec) encode() (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding a spec: %w", err)
	}
	return raw, nil
}

func (s spec) clone() spec { return runtime.DeepCopyJSON(s) }

// object returns the object under the keys, or nil.
func (s spec) object(keys ...string) map[string]any {
	object := map[string]any(s)
	for _, key := range keys {
		object, _ = object[key].(map[string]any)
	}
	return object
}

// text returns the string under the keys, or "".
func (s spec) text(keys ...string) string {
	text, _ := s.object(keys[:len(keys)-1]...)[keys[len(keys)-1]].(string)
	return text
}

// named returns the object of that name in the list, or nil.
func (s spec) named(list, name string) map[string]any {
	for _, object := range s.entries(list) {
		if object != nil && object["name"] == name {
			return object
		}
	}
	return nil
}

// entries returns the objects of the list by their place; nil for what is none.
func (s spec) entries(list string) []map[string]any {
	entries, _ := s[list].([]any)
	objects := make([]map[string]any, len(entries))
	for i, entry := range entries {
		objects[i], _ = entry.(map[string]any)
	}
	return objects
}

// equals tells whether two specs declare the same: what the
// StyrminDeployment's own defaults add makes no difference.
func (s spec) equals(other spec) (bool, error) {
	a, err := s.completed()
	if err != nil {
		return false, err
	}
	b, err := other.completed()
	return reflect.DeepEqual(a, b), err
}

// completed is the spec with its defaults.
func (s spec) completed() (spec, error) {
	whole := s.clone()
	if whole["internal"] == false {
		delete(whole, "internal")
	}
	schemaOfObjects().complete(map[string]any{"spec": map[string]any(whole)})
	// Defaults bring numbers of their own type.
	encoded, err := whole.encode()
	if err != nil {
		return nil, err
	}
	return decodeSpec(encoded)
}

// number is an integer as a decoded spec holds it.
func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// isCleanJSON tells whether every database keeps the decoded value: NUL has no
// place in a JSON column.
func isCleanJSON(value any) bool {
	switch value := value.(type) {
	case string:
		return !strings.ContainsRune(value, 0)
	case []any:
		for _, element := range value {
			if !isCleanJSON(element) {
				return false
			}
		}
	case map[string]any:
		for key, element := range value {
			if !isCleanJSON(key) || !isCleanJSON(element) {
				return false
			}
		}
	}
	return true
}
