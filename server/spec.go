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
	entries, _ := s[list].([]any)
	for _, entry := range entries {
		if object, ok := entry.(map[string]any); ok && object["name"] == name {
			return object
		}
	}
	return nil
}

// equals tells whether two specs declare the same: what the
// StyrminDeployment's own defaults add makes no difference.
func (s spec) equals(other spec) bool {
	return reflect.DeepEqual(s.withoutDefaults(), other.withoutDefaults())
}

func (s spec) withoutDefaults() spec {
	bare := s.clone()
	if bare["internal"] == false {
		delete(bare, "internal")
	}
	components, _ := bare["components"].([]any)
	for _, entry := range components {
		component, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		if component["running"] == true {
			delete(component, "running")
		}
		if component["replicas"] == number(1) {
			delete(component, "replicas")
		}
	}
	return bare
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
