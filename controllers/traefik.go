// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=traefik.io;traefik.containo.us,resources=middlewares;ingressroutes,verbs=get;list;watch;create;patch;delete

const (
	traefik          = "Traefik's CustomResourceDefinitions"
	middlewareKind   = "Middleware"
	ingressRouteKind = "IngressRoute"
)

// traefikGroups are the groups that Traefik's API has had, newest first.
var traefikGroups = []schema.GroupVersion{
	{Group: "traefik.io", Version: "v1alpha1"},
	{Group: "traefik.containo.us", Version: "v1alpha1"},
}

// traefikVersion returns the newest served version of Traefik's API.
func (r *reconciler) traefikVersion() (schema.GroupVersion, error) {
	for _, version := range traefikGroups {
		err := r.optional.require(version.WithKind(ingressRouteKind), traefik)
		if err == nil {
			err = r.optional.require(version.WithKind(middlewareKind), traefik)
		}
		var missing *missingAPIError
		if err == nil || !errors.As(err, &missing) {
			return version, err
		}
	}
	return schema.GroupVersion{}, &missingAPIError{kind: traefikGroups[0].WithKind(ingressRouteKind), product: traefik}
}

// reconcileRoutes makes the Middlewares, then the IngressRoutes that use them,
// and removes those that the spec no longer has. A cluster without Traefik is
// no obstacle to a spec that needs none of it (O9).
func (r *reconciler) reconcileRoutes(ctx context.Context, s *scope) error {
	version, err := r.traefikVersion()
	if err != nil {
		var missing *missingAPIError
		if errors.As(err, &missing) && !needsTraefik(s.deployment) {
			return nil
		}
		return err
	}
	desired, err := desiredRoutes(s, version)
	if err != nil {
		return err
	}
	wanted := map[string]map[string]bool{middlewareKind: {}, ingressRouteKind: {}}
	for _, obj := range desired {
		wanted[obj.GetKind()][obj.GetName()] = true
		if _, err := ensure(ctx, r, s, obj); err != nil {
			return err
		}
	}
	return r.pruneRoutes(ctx, s, version, wanted)
}

// pruneRoutes removes what the spec no longer has, and all of another group that
// is served as well: Traefik would go on routing by it.
func (r *reconciler) pruneRoutes(ctx context.Context, s *scope, current schema.GroupVersion, wanted map[string]map[string]bool) error {
	for _, version := range traefikGroups {
		for _, kind := range []string{ingressRouteKind, middlewareKind} {
			keep := wanted[kind]
			var missing *missingAPIError
			if err := r.optional.require(version.WithKind(kind), traefik); errors.As(err, &missing) {
				continue
			} else if err != nil {
				return err
			}
			if version != current {
				if !r.optional.hasSynced(ctx, version.WithKind(kind)) {
					continue // It may be one that cannot be listed; its events bring the deployment here again.
				}
				keep = nil
			}
			if err := r.prune(ctx, s, unstructuredList(version.WithKind(kind)), keep); err != nil {
				return err
			}
		}
	}
	return nil
}

func needsTraefik(d *styrminv1.StyrminDeployment) bool {
	for i := range d.Spec.Services {
		if d.Spec.Services[i].HTTP != nil {
			return true
		}
	}
	return len(d.Spec.Middlewares) > 0
}

// desiredRoutes are Traefik's objects of the spec, Middlewares first.
func desiredRoutes(s *scope, version schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for i := range s.deployment.Spec.Middlewares {
		m := &s.deployment.Spec.Middlewares[i]
		spec := map[string]any{}
		if err := utiljson.Unmarshal(m.Spec.Raw, &spec); err != nil {
			return nil, invalidSpec("middleware %s: its spec is not a map: %s", m.Name, err)
		}
		objects = append(objects, traefikObject(s, version.WithKind(middlewareKind), m.Name, spec))
	}
	for i := range s.deployment.Spec.Services {
		service := &s.deployment.Spec.Services[i]
		if service.HTTP != nil {
			objects = append(objects, traefikObject(s, version.WithKind(ingressRouteKind), service.Name, routeSpec(service)))
		}
	}
	return objects, nil
}

// routeSpec is the IngressRoute's spec for a Service's http route.
func routeSpec(service *styrminv1.ServiceSpec) map[string]any {
	path := service.HTTP.Path
	if path == "" {
		path = "/"
	}
	route := map[string]any{
		"kind":     "Rule",
		"match":    fmt.Sprintf("Host(`%s`) && PathPrefix(`%s`)", service.HTTP.Host, path),
		"services": []any{map[string]any{"name": service.Name, "port": int64(service.Port)}},
	}
	if len(service.HTTP.Middlewares) > 0 {
		middlewares := make([]any, len(service.HTTP.Middlewares))
		for i, name := range service.HTTP.Middlewares {
			middlewares[i] = map[string]any{"name": name}
		}
		route["middlewares"] = middlewares
	}
	spec := map[string]any{"routes": []any{route}}
	if service.HTTP.TLSSecretName != "" {
		spec["tls"] = map[string]any{"secretName": service.HTTP.TLSSecretName}
	}
	return spec
}

func traefikObject(s *scope, kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(s.namespace)
	u.SetName(name)
	return u
}

func unstructuredList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}
