// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=styrmindeployments.styrmin.io,verbs=get

// crdName is the CustomResourceDefinition that the operator's writes depend on.
const crdName = "styrmindeployments.styrmin.io"

// errPrunedStatus says that the API server dropped what was written: an older
// CustomResourceDefinition is installed. It is tried again with backoff.
var errPrunedStatus = errors.New(
	"the API server dropped status.instanceId: the CustomResourceDefinition " + crdName + " is too old, apply the one of this version")

// checkServedSchema returns an error where the installed
// CustomResourceDefinition lacks a status field that the operator writes. The
// API server drops such a field without an error, and with it what keeps
// reports about one rollout apart from those about the next (H01).
func checkServedSchema(ctx context.Context, reader client.Reader) error {
	u := &unstructured.Unstructured{} // So that a manager's scheme need not have the type.
	u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := reader.Get(ctx, client.ObjectKey{Name: crdName}, u); err != nil {
		return fmt.Errorf("reading the CustomResourceDefinition %s: %w", crdName, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		return fmt.Errorf("converting the CustomResourceDefinition %s: %w", crdName, err)
	}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if version.Name != styrminv1.GroupVersion.Version || !version.Served {
			continue
		}
		if missing := missingStatusFields(version.Schema); len(missing) > 0 {
			return fmt.Errorf("the CustomResourceDefinition %s lacks status fields of this version (%s); apply the one of this version",
				crdName, strings.Join(missing, ", "))
		}
		return nil
	}
	return fmt.Errorf("the CustomResourceDefinition %s does not serve %s", crdName, styrminv1.GroupVersion.Version)
}

// servedSchemaChecker is checkServedSchema as a readiness check. It asks until
// it has seen the schema once.
func servedSchemaChecker(reader client.Reader) healthz.Checker {
	var seen atomic.Bool
	return func(req *http.Request) error {
		if seen.Load() {
			return nil
		}
		if err := checkServedSchema(req.Context(), reader); err != nil {
			return err
		}
		seen.Store(true)
		return nil
	}
}

// missingStatusFields compares the schema with the status type of this version.
func missingStatusFields(validation *apiextensionsv1.CustomResourceValidation) []string {
	var served map[string]apiextensionsv1.JSONSchemaProps
	if validation != nil && validation.OpenAPIV3Schema != nil {
		served = validation.OpenAPIV3Schema.Properties["status"].Properties
	}
	var missing []string
	status := reflect.TypeFor[styrminv1.StyrminDeploymentStatus]()
	for i := range status.NumField() {
		name, _, _ := strings.Cut(status.Field(i).Tag.Get("json"), ",")
		if _, ok := served[name]; !ok {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}
