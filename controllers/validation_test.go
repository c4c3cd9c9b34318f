// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// TestInvalidSpecsAreRefused: the API server refuses what cannot be right, and
// names the field.
func TestInvalidSpecsAreRefused(t *testing.T) {
	type spec = styrminv1.StyrminDeploymentSpec
	for name, tc := range map[string]struct {
		create func(*styrminv1.StyrminDeployment)
		update func(*spec)
		want   string
	}{
		"a release name that Helm does not take": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.HelmRelease.ReleaseName = strings.Repeat("a", 54) },
			want:   "spec.helmRelease.releaseName",
		},
		"a repository without a scheme": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.HelmRelease.Chart.Repository = "charts.test" },
			want:   "spec.helmRelease.chart.repository",
		},
		"a service of no component": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.Services[0].Component = "nosuch" },
			want:   "every service's component must be one of components",
		},
		"a route through no middleware": {
			create: func(d *styrminv1.StyrminDeployment) { d.Spec.Services[0].HTTP.Middlewares = []string{"nosuch"} },
			want:   "every middleware of a service's http route must be one of middlewares",
		},
		"two components of one name": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Components = append(d.Spec.Components, d.Spec.Components[0])
			},
			want: "spec.components[1]",
		},
		"a secret that is both copied and generated": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Secrets[0].FromSecret = &styrminv1.SecretReference{Name: "other"}
			},
			want: "exactly one of fromSecret and generate must be set",
		},
		"a component that cannot be stopped": {
			create: func(d *styrminv1.StyrminDeployment) {
				d.Spec.Components[0].ReplicasValue, d.Spec.Components[0].Running = "", ptr.To(false)
			},
			want: "a component without replicasValue cannot be stopped",
		},
		"a namespace name that is too long": {
			create: func(d *styrminv1.StyrminDeployment) { d.Name, d.Spec.TargetNamespace = strings.Repeat("a", 60), "" },
			want:   "<environment>-<name> must be no longer than 63 characters",
		},
		"another deployment's id":         {update: func(s *spec) { s.DeploymentID = "other" }, want: "deploymentId is immutable"},
		"no deployment id any more":       {update: func(s *spec) { s.DeploymentID = "" }, want: "deploymentId is immutable"},
		"another target namespace":        {update: func(s *spec) { s.TargetNamespace = "other" }, want: "targetNamespace is immutable"},
		"the default namespace after all": {update: func(s *spec) { s.TargetNamespace = "" }, want: "targetNamespace is immutable"},
		"another environment":             {update: func(s *spec) { s.Environment = "other" }, want: "environment is immutable"},
		"another release name":            {update: func(s *spec) { s.HelmRelease.ReleaseName = "other" }, want: "helmRelease.releaseName is immutable"},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := newFixture(t, newClient(t, apiServer), "shop")
			if tc.create != nil {
				tc.create(d)
			}
			err := f.client.Create(t.Context(), d)
			if tc.update != nil && err == nil {
				tc.update(&d.Spec)
				err = f.client.Update(t.Context(), d)
			}
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the API server answered %v, want Invalid with %q", err, tc.want)
			}
		})
	}
}
