// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete

// reconcileServices makes the Services, and Traefik's objects where the spec
// has any, and removes those that the spec no longer has.
func (r *reconciler) reconcileServices(ctx context.Context, s *scope) (outcome, error) {
	wanted := map[string]bool{}
	for i := range s.deployment.Spec.Services {
		service, err := desiredService(s, &s.deployment.Spec.Services[i])
		if err != nil {
			return outcome{}, err
		}
		wanted[service.Name] = true
		if _, err := ensure(ctx, r, s, service); err != nil {
			return outcome{}, err
		}
	}
	if err := r.reconcileRoutes(ctx, s); err != nil {
		return outcome{}, err
	}
	if err := r.prune(ctx, s, &corev1.ServiceList{}, wanted); err != nil {
		return outcome{}, err
	}
	return done("Services, Middlewares and IngressRoutes are there"), nil
}

// desiredService is a Service to the pods of its component.
func desiredService(s *scope, spec *styrminv1.ServiceSpec) (*corev1.Service, error) {
	selector, err := serviceSelector(s.deployment, spec)
	if err != nil {
		return nil, err
	}
	target := intstr.FromInt32(spec.Port)
	if spec.TargetPort != nil {
		target = *spec.TargetPort
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: spec.Name},
		Spec: corev1.ServiceSpec{
			Selector: selector,
			Ports: []corev1.ServicePort{{
				Name: "main", Protocol: corev1.ProtocolTCP, Port: spec.Port, TargetPort: target,
			}},
		},
	}, nil
}

// serviceSelector is the component's selector; a Service knows labels only.
func serviceSelector(d *styrminv1.StyrminDeployment, spec *styrminv1.ServiceSpec) (map[string]string, error) {
	for i := range d.Spec.Components {
		c := &d.Spec.Components[i]
		if c.Name != spec.Component {
			continue
		}
		if len(c.Selector.MatchExpressions) > 0 || len(c.Selector.MatchLabels) == 0 {
			return nil, invalidSpec("service %s: the selector of component %s must have matchLabels, and no matchExpressions, to be a Service's", spec.Name, c.Name)
		}
		return c.Selector.MatchLabels, nil
	}
	return nil, invalidSpec("service %s: there is no component %s", spec.Name, spec.Component)
}
