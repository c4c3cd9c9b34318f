// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// permission is a verb on a resource, in all namespaces.
type permission struct {
	verb, group, resource string
	// name is that of the one object that it is for; empty: all.
	name string
}

// String names the permission as a role does.
func (p permission) String() string {
	resource := p.resource
	if p.group != "" {
		resource += "." + p.group
	}
	if p.name != "" {
		resource += " " + p.name
	}
	return fmt.Sprintf("%s %s", p.verb, resource)
}

// neededPermissions are what the operator's role must have. A test compares them
// with the role that is generated from the markers.
func neededPermissions() []permission {
	watched, made := []string{"list", "watch"}, []string{"get", "list", "watch", "create", "patch", "delete"}
	var needed []permission
	for _, rule := range []struct {
		group     string
		resources []string
		verbs     []string
		name      string
	}{
		{styrminv1.GroupVersion.Group, []string{"styrmindeployments"}, []string{"list", "watch", "patch"}, ""},
		{styrminv1.GroupVersion.Group, []string{"styrmindeployments/status"}, []string{"patch"}, ""},
		{apiextensionsv1.GroupName, []string{"customresourcedefinitions"}, []string{"get"}, crdName},
		{"", []string{"namespaces", "secrets", "services"}, made, ""},
		{networkingv1.GroupName, []string{"networkpolicies"}, made, ""},
		{sourcev1.GroupVersion.Group, []string{"helmrepositories"}, made, ""},
		{sourcev1.GroupVersion.Group, []string{"helmcharts"}, []string{"get"}, ""},
		{helmv2.GroupVersion.Group, []string{"helmreleases"}, made, ""},
		{traefikGroups[0].Group, []string{"middlewares", "ingressroutes"}, made, ""},
		{traefikGroups[1].Group, []string{"middlewares", "ingressroutes"}, made, ""},
		{"", []string{"pods"}, watched, ""},
		{appsv1.GroupName, []string{"deployments", "statefulsets", "daemonsets"}, watched, ""},
		{appsv1.GroupName, []string{"replicasets"}, []string{"list"}, ""},
		{autoscalingv2.GroupName, []string{"horizontalpodautoscalers"}, []string{"list"}, ""},
		{eventsv1.GroupName, []string{"events"}, []string{"create", "patch"}, ""},
	} {
		for _, resource := range rule.resources {
			for _, verb := range rule.verbs {
				needed = append(needed, permission{verb: verb, group: rule.group, resource: resource, name: rule.name})
			}
		}
	}
	return needed
}
