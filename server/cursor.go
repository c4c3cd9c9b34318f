// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/base64"
	"encoding/json"
)

// cursorLength bounds a cursor that someone sends.
const cursorLength = 4096

// Cursor returns the place of a row in the order that its key gives; opaque to
// clients.
func Cursor(key ...string) string {
	text, _ := json.Marshal(key) // strings always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

// ParseCursor returns the key of a cursor with that many parts. Anything else is
// INVALID_INPUT of the field.
func ParseCursor(field, cursor string, parts int) ([]string, error) {
	var key []string
	if len(cursor) <= cursorLength {
		if text, err := base64.RawURLEncoding.DecodeString(cursor); err == nil {
			_ = json.Unmarshal(text, &key) // whatever it is not, the length tells
		}
	}
	if len(key) != parts {
		return nil, InvalidInput(field, "this is no cursor of a row")
	}
	for i := range key {
		key[i] = CleanText(key[i], 0)
	}
	return key, nil
}

// Cursor is the pod's place among all pods.
func (p PodStatus) Cursor() string { return Cursor(p.ClusterID, p.Namespace, p.Name) }

// Cursor is the object's place among all StyrminDeployments.
func (d DeploymentStatus) Cursor() string { return Cursor(d.ClusterID, d.Namespace, d.Name) }
