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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=styrmindeployments.styrmin.io,verbs=get

// crdName is the CustomResourceDefinition that the operator's writes depend on.
const crdName = "styrmindeployments.styrmin.io"

// outdatedCRDError says that an older CustomResourceDefinition is installed than
// this operator was made with (H01).
type outdatedCRDError struct {
	// missing are the status fields that it lacks.
	missing []string
}

func (e *outdatedCRDError) Error() string {
	return fmt.Sprintf("the CustomResourceDefinition %s lacks status fields of this version (%s): apply the one of this version",
		crdName, strings.Join(e.missing, ", "))
}

// checkServedSchema returns an outdatedCRDError where the installed
// CustomResourceDefinition lacks a status field that the operator writes. The
// API server drops such a field, or refuses the whole status, and with it goes
// what keeps reports about one rollout apart from those about the next (H01).
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
			return &outdatedCRDError{missing: missing}
		}
		return nil
	}
	return fmt.Errorf("the CustomResourceDefinition %s does not serve %s: apply the one of this version", crdName, styrminv1.GroupVersion.Version)
}

// explainWrite returns why a status could not be written, where an outdated
// CustomResourceDefinition is the reason. The API server answers an apply of
// fields that it does not know with an error that has no reason of its own.
func (r *reconciler) explainWrite(ctx context.Context, err error) error {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) || refused.Status().Code != http.StatusInternalServerError {
		return err
	}
	var outdated *outdatedCRDError
	if errors.As(checkServedSchema(ctx, r.live), &outdated) {
		return outdated
	}
	return err
}

// reportOutdated writes what a status can say without the fields that the
// installed CustomResourceDefinition lacks, and nothing of a rollout: no report
// may take the phase of one for that of another.
func (r *reconciler) reportOutdated(ctx context.Context, s *scope, outdated *outdatedCRDError) error {
	log.FromContext(ctx).Error(outdated, "Cannot work on StyrminDeployments")
	r.review.again()
	status := *s.status.DeepCopy()
	status.Phase, status.DisplayState = styrminv1.PhaseFailed, styrminv1.DisplayStateError
	status.Message = outdated.Error()
	setCondition(&status, s.now, styrminv1.ConditionReady, failed(styrminv1.ReasonOutdatedCRD, status.Message))
	_, err := r.applyStatus(ctx, s, status, outdated.missing)
	return err
}

// isStillOutdated tells whether the last reconcile met an outdated
// CustomResourceDefinition that is still installed: then there is nothing to do.
func (r *reconciler) isStillOutdated(ctx context.Context, s *scope) bool {
	var outdated *outdatedCRDError
	return s.readyReason() == styrminv1.ReasonOutdatedCRD && errors.As(checkServedSchema(ctx, r.live), &outdated)
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
