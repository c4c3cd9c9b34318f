// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// annotationReleaseHash is the hash of the HelmRelease's spec as the operator
// wrote it; with it an instance that changed nothing in it is noticed (E04).
const annotationReleaseHash = "styrmin.io/release-hash"

// desiredHelmRelease is the HelmRelease of the spec. It lives in the target
// namespace, as Helm's storage does, so that neither outlives the other. A
// failed try is not rolled back: people must see the pods that fail.
func desiredHelmRelease(s *scope, opts Options) (*helmv2.HelmRelease, error) {
	spec := &s.deployment.Spec.HelmRelease
	values, err := releaseValues(s.deployment)
	if err != nil {
		return nil, err
	}
	retry := &metav1.Duration{Duration: opts.HelmRetryInterval}
	release := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: spec.ReleaseName},
		Spec: helmv2.HelmReleaseSpec{
			ReleaseName: spec.ReleaseName,
			Interval:    metav1.Duration{Duration: opts.HelmInterval},
			Timeout:     &metav1.Duration{Duration: s.helmTimeout()},
			Chart: &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart:   spec.Chart.Name,
				Version: spec.Chart.Version,
				SourceRef: helmv2.CrossNamespaceObjectReference{
					Kind: sourcev1.HelmRepositoryKind, Name: spec.ReleaseName,
				},
			}},
			DriftDetection: &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled},
			Install: &helmv2.Install{Strategy: &helmv2.InstallStrategy{
				Name: string(helmv2.ActionStrategyRetryOnFailure), RetryInterval: retry,
			}},
			Upgrade: &helmv2.Upgrade{Strategy: &helmv2.UpgradeStrategy{
				Name: string(helmv2.ActionStrategyRetryOnFailure), RetryInterval: retry,
			}},
			Values: values,
		},
	}
	hash, err := json.Marshal(release.Spec)
	if err != nil {
		return nil, fmt.Errorf("hashing the HelmRelease: %w", err)
	}
	sum := sha256.Sum256(hash)
	release.Annotations = map[string]string{
		styrminv1.AnnotationRollout: s.rollout(),
		annotationReleaseHash:       hex.EncodeToString(sum[:16]),
	}
	return release, nil
}

// releaseValues are the spec's values with the replicas of each component that
// has a path for them.
func releaseValues(d *styrminv1.StyrminDeployment) (*apiextensionsv1.JSON, error) {
	values := map[string]any{}
	if raw := d.Spec.HelmRelease.Values; raw != nil {
		if err := utiljson.Unmarshal(raw.Raw, &values); err != nil { // Keeps whole numbers whole.
			return nil, invalidSpec("helmRelease.values is not a map: %s", err)
		}
	}
	for i := range d.Spec.Components {
		c := &d.Spec.Components[i]
		if c.ReplicasValue == "" {
			continue
		}
		if err := setValue(values, strings.Split(c.ReplicasValue, "."), c.DesiredReplicas()); err != nil {
			return nil, invalidSpec("component %s: replicasValue %s: %s", c.Name, c.ReplicasValue, err)
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encoding the values: %w", err)
	}
	return &apiextensionsv1.JSON{Raw: raw}, nil
}

// setValue sets a value at a path, making the maps on the way.
func setValue(values map[string]any, path []string, value any) error {
	for i, key := range path[:len(path)-1] {
		next, exists := values[key]
		if !exists || next == nil {
			next = map[string]any{}
			values[key] = next
		}
		inner, ok := next.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not a map in helmRelease.values", strings.Join(path[:i+1], "."))
		}
		values = inner
	}
	last := path[len(path)-1]
	switch values[last].(type) {
	case map[string]any, []any:
		return fmt.Errorf("%s is no number in helmRelease.values, or holds the value of another component", strings.Join(path, "."))
	}
	values[last] = value
	return nil
}
