// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// declare checks a spec that a user sent and completes it with what the
// deployment already says: environment and internal. What the cluster's own
// validation covers is left to it, but for types: a spec that no
// StyrminDeployment can hold is refused here.
func declare(raw json.RawMessage, deployment *Deployment) (spec, error) {
	declared, err := decodeSpec(raw)
	if err != nil {
		return nil, InvalidInput("spec", "%v", err)
	}
	if !isCleanJSON(map[string]any(declared)) {
		return nil, InvalidInput("spec", "holds a NUL character")
	}
	for _, key := range []string{"deploymentId", "instanceId"} {
		if declared.text(key) != "" {
			return nil, InvalidInput("spec."+key, "is set by the server")
		}
		delete(declared, key)
	}
	if err := declared.complete("environment", optionalText(deployment.Environment), ""); err != nil {
		return nil, err
	}
	if err := declared.complete("internal", deployment.Internal, false); err != nil {
		return nil, err
	}
	var typed styrminv1.StyrminDeploymentSpec
	if err := json.Unmarshal(raw, &typed); err != nil {
		return nil, wrongType(err)
	}
	hooks, err := upgradeHooks(declared)
	if err != nil {
		return nil, err
	}
	for _, hook := range append(hooks.pre, hooks.post...) {
		if _, err := hook.apply(declared); err != nil {
			return nil, InvalidInput("spec.hooks.upgrade", "%v", err)
		}
	}
	return declared, nil
}

// complete sets what the deployment says under the key. A spec that says
// something else is refused; the empty value is left out.
func (s spec) complete(key string, value, empty any) error {
	declared := s[key]
	if declared != nil && declared != value {
		return InvalidInput("spec."+key, "the deployment has %v, not %v", value, declared)
	}
	if value != empty {
		s[key] = value
	}
	return nil
}

func wrongType(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return InvalidInput("spec."+mismatch.Field, "cannot be a %s", mismatch.Value)
	}
	return InvalidInput("spec", "%v", err)
}

func optionalText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
