// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"
)

// Bounds of the StyrminDeployment's own schema.
const (
	maxReplicas     = 10000
	maxVersionBytes = 128
)

// apply returns what the change makes of a spec (W5); base itself stays. base
// nil: nothing was written before. Fields at fault are named as the arguments
// of the calls that make changes.
func (c Change) apply(base spec) (spec, error) {
	if c.Kind == TaskCreate || c.Kind == TaskUpdate {
		return c.replace(base)
	}
	if base == nil {
		return nil, Errorf(CodeConflict, "no spec of the deployment was written yet")
	}
	next := base.clone()
	var err error
	switch c.Kind {
	case TaskScale:
		err = next.scale(c.Replicas)
	case TaskUpdateVersion:
		err = next.setVersion(c.Version)
	case TaskStartComponents:
		err = next.setRunning(c.Components, true)
	case TaskStopComponents:
		err = next.setRunning(c.Components, false)
	case TaskRunJob:
		err = next.requireJob(c.Job)
	}
	if err != nil {
		return nil, err
	}
	return next, nil
}

// replace is a whole new spec; what the StyrminDeployment keeps for ever must
// stay.
func (c Change) replace(base spec) (spec, error) {
	next, err := decodeSpec(c.Spec)
	if err != nil {
		return nil, InvalidInput("spec", "%v", err)
	}
	if base == nil {
		return next, nil
	}
	for _, path := range [][]string{{"environment"}, {"targetNamespace"}, {"helmRelease", "releaseName"}} {
		if was, is := base.text(path...), next.text(path...); was != is {
			return nil, InvalidInput("spec."+strings.Join(path, "."), "is immutable: it is %q and cannot become %q", was, is)
		}
	}
	return next, nil
}

// isScalable tells whether the chart has a value for the component's replicas.
func isScalable(component map[string]any) bool {
	path, _ := component["replicasValue"].(string)
	return path != ""
}

// scale sets the replicas of components.
func (s spec) scale(replicas []ComponentReplicas) error {
	if len(replicas) == 0 {
		return InvalidInput("replicas", "names no component")
	}
	seen := map[string]bool{}
	for i, r := range replicas {
		component := s.named("components", r.Component)
		switch {
		case component == nil:
			return InvalidInput(fmt.Sprintf("replicas[%d].component", i), "the deployment has no component %q", r.Component)
		case seen[r.Component]:
			return InvalidInput(fmt.Sprintf("replicas[%d].component", i), "component %q is named twice", r.Component)
		case r.Replicas < 0 || r.Replicas > maxReplicas:
			return InvalidInput(fmt.Sprintf("replicas[%d].replicas", i), "must be from 0 to %d", maxReplicas)
		case !isScalable(component):
			return InvalidInput(fmt.Sprintf("replicas[%d].component", i), "component %q has no replicasValue and cannot be scaled", r.Component)
		}
		seen[r.Component] = true
		component["replicas"] = number(r.Replicas)
	}
	return nil
}

func (s spec) setVersion(version string) error {
	if version == "" || CleanText(version, maxVersionBytes) != version {
		return InvalidInput("version", "must be text of 1 to %d bytes", maxVersionBytes)
	}
	chart := s.object("helmRelease", "chart")
	if chart == nil {
		return InvalidInput("version", "the deployment's spec has no helmRelease.chart")
	}
	chart["version"] = version
	s["version"] = version
	return nil
}

func (s spec) setRunning(components []string, running bool) error {
	if len(components) == 0 {
		return InvalidInput("components", "names no component")
	}
	for i, name := range components {
		component := s.named("components", name)
		if component == nil {
			return InvalidInput(fmt.Sprintf("components[%d]", i), "the deployment has no component %q", name)
		}
		if !isScalable(component) && !running {
			return InvalidInput(fmt.Sprintf("components[%d]", i), "component %q has no replicasValue and cannot be stopped", name)
		}
		component["running"] = running
	}
	return nil
}

func (s spec) requireJob(name string) error {
	if s.named("jobs", name) == nil {
		return InvalidInput("job", "the deployment has no job %q", name)
	}
	return nil
}
