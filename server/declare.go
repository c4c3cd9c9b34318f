// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// declare checks a spec that a user sent and completes it with what the
// deployment already says: environment, internal, and the namespace of its pods.
// A spec that the API server or the operator would refuse once it is written is
// refused here, with the path of the field at fault.
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
	name := deployment.objectName()
	if declared["targetNamespace"] == nil {
		declared["targetNamespace"] = name
	}
	completed, err := declared.encode()
	if err != nil {
		return nil, err
	}
	if err := checkSpec(name, completed); err != nil {
		return nil, err
	}
	return declared, declared.checkMeaning()
}

// checkMeaning refuses what the schema cannot tell to be wrong.
func (s spec) checkMeaning() error {
	if isProtected(s.text("targetNamespace")) {
		return InvalidInput("spec.targetNamespace", "%s is not for deployments", s.text("targetNamespace"))
	}
	for i, component := range s.entries("components") {
		var selector metav1.LabelSelector
		path := fmt.Sprintf("spec.components[%d].selector", i)
		if err := decodeAt(path, component["selector"], &selector); err != nil {
			return err
		}
		if _, err := metav1.LabelSelectorAsSelector(&selector); err != nil {
			return InvalidInput(path, "%v", err)
		}
	}
	for i, job := range s.entries("jobs") {
		// The operator reads the template with the rest of the object: one that is
		// no Job's spec would make all of it unreadable.
		if err := decodeAt(fmt.Sprintf("spec.jobs[%d].template", i), job["template"], new(batchv1.JobSpec)); err != nil {
			return err
		}
	}
	return s.checkHooks()
}

// checkHooks refuses hooks that name what the spec does not have.
func (s spec) checkHooks() error {
	hooks, err := upgradeHooks(s)
	if err != nil {
		return err
	}
	return errors.Join(s.checkHookChanges("pre", hooks.pre), s.checkHookChanges("post", hooks.post))
}

func (s spec) checkHookChanges(when string, changes []Change) error {
	for i, change := range changes {
		_, err := change.apply(s)
		var refused *Error
		if errors.As(err, &refused) {
			path := fmt.Sprintf("spec.hooks.upgrade.%s[%d].%s", when, i, change.hookField(refused.Field))
			return InvalidInput(path, "%s", refused.Message)
		}
	}
	return nil
}

// hookField is the field of a hook that holds what the argument of the call of
// the same change is about.
func (c Change) hookField(argument string) string {
	name := map[TaskKind]string{TaskStopComponents: "stopComponents", TaskStartComponents: "startComponents", TaskRunJob: "runJob"}[c.Kind]
	return name + strings.TrimLeft(argument, "abcdefghijklmnopqrstuvwxyz")
}

// isProtected tells whether the namespace belongs to Kubernetes or to Styrmin.
func isProtected(namespace string) bool {
	return namespace == metav1.NamespaceDefault || namespace == ObjectNamespace || strings.HasPrefix(namespace, "kube-")
}

// decodeAt reads a part of a spec as what it is.
func decodeAt(path string, value, into any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	err = json.Unmarshal(raw, into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &mismatch) && mismatch.Field != "":
		return InvalidInput(path+"."+mismatch.Field, "cannot be a %s", mismatch.Value)
	case errors.As(err, &mismatch):
		return InvalidInput(path, "cannot be a %s", mismatch.Value)
	}
	return InvalidInput(path, "%v", err)
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

func optionalText(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
