// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/styrmin/styrmin/sdk"
)

// versionChange is what a document does to the version of a deployment.
type versionChange struct {
	// to is the new version; empty: it stays.
	to string
	// alone: nothing else changes, so that it can be made as an upgrade.
	alone bool
	// hooked: the document has hooks for upgrades.
	hooked bool
}

// compareVersions compares what is declared of a deployment with what a document
// wants. An upgrade gives the application and its chart one version.
func compareVersions(declared *sdk.Instance, wanted json.RawMessage) (versionChange, error) {
	if declared == nil || len(declared.Spec) == 0 {
		return versionChange{}, nil
	}
	is, err := decodeSpec(declared.Spec)
	if err != nil {
		return versionChange{}, err
	}
	will, err := decodeSpec(wanted)
	if err != nil {
		return versionChange{}, err
	}
	to, _ := will["version"].(string)
	if to == "" || is["version"] == to {
		return versionChange{}, nil
	}
	hooks, _ := will["hooks"].(map[string]any)
	change := versionChange{to: to, hooked: hooks["upgrade"] != nil}
	is["version"] = to
	if chart := chartOf(is); chart != nil {
		chart["version"] = to
	}
	change.alone = reflect.DeepEqual(is, will)
	return change, nil
}

// decodeSpec reads a spec without what says the same as nothing: that a component
// is to run, as it says once it was stopped and started, and what the server knows
// of each deployment.
func decodeSpec(raw json.RawMessage) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var spec map[string]any
	if err := decoder.Decode(&spec); err != nil {
		return nil, fmt.Errorf("reading a spec: %w", err)
	}
	components, _ := spec["components"].([]any)
	for _, entry := range components {
		if component, ok := entry.(map[string]any); ok && component["running"] == true {
			delete(component, "running")
		}
	}
	for _, known := range []string{"environment", "internal", "targetNamespace"} {
		delete(spec, known) // The server refuses another value.
	}
	return spec, nil
}

func chartOf(spec map[string]any) map[string]any {
	release, _ := spec["helmRelease"].(map[string]any)
	chart, _ := release["chart"].(map[string]any)
	return chart
}
