// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/config/crd"
)

// maxFaults bounds how many faults of a spec a refusal names.
const maxFaults = 5

// objectSchema checks StyrminDeployments as the API server does: by the
// CustomResourceDefinition itself, so that the two cannot differ.
type objectSchema struct {
	structural *structuralschema.Structural
	values     validation.SchemaValidator
	rules      *cel.Validator
}

// schemaOfObjects compiles the CustomResourceDefinition once; it is part of the
// program, so an error is one of the build.
var schemaOfObjects = sync.OnceValue(func() *objectSchema {
	compiled, err := compileSchema(crd.StyrminDeployment)
	if err != nil {
		panic(fmt.Sprintf("the embedded CustomResourceDefinition: %v", err))
	}
	return compiled
})

func compileSchema(manifest []byte) (*objectSchema, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(manifest, &definition); err != nil {
		return nil, err
	}
	var props apiextensions.JSONSchemaProps
	external := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(external, &props, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		return nil, err
	}
	values, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return nil, err
	}
	return &objectSchema{
		structural: structural, values: values,
		rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

// checkSpec refuses a spec that the API server would not take as that of the
// named StyrminDeployment, or of which it would drop a field. The field at
// fault is named by its path, as spec.components[1].name.
func checkSpec(name string, raw json.RawMessage) error {
	var spec any
	// Numbers become int64 and float64, as the API server reads them.
	if err := utiljson.Unmarshal(raw, &spec); err != nil {
		return InvalidInput("spec", "%v", err)
	}
	faults := schemaOfObjects().faults(map[string]any{
		"apiVersion": styrminv1.GroupVersion.String(),
		"kind":       "StyrminDeployment",
		"metadata":   map[string]any{"name": name, "namespace": ObjectNamespace},
		"spec":       spec,
	})
	if len(faults) == 0 {
		return nil
	}
	message := faults[0].what
	for _, fault := range faults[1:min(len(faults), maxFaults)] {
		message += fmt.Sprintf("; %s %s", fault.path, fault.what)
	}
	if more := len(faults) - maxFaults; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	return &Error{Code: CodeInvalidInput, Field: faults[0].path, Message: message}
}

// specFault is what is wrong with one field of an object.
type specFault struct{ path, what string }

// faults are all that is wrong with the object, by path. The object is
// completed with its defaults on the way.
func (s *objectSchema) faults(object map[string]any) []specFault {
	var faults []specFault
	s.complete(object)
	unknown := pruning.PruneWithOptions(object, s.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		faults = append(faults, specFault{path, "is not a field that a StyrminDeployment has"})
	}
	found := validation.ValidateCustomResource(nil, object, s.values)
	found = append(found, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(found) == 0 {
		// The rules read fields of which the types must hold.
		broken, _ := s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
		found = append(found, broken...)
	}
	placed := slices.DeleteFunc(slices.Clone(found), func(err *field.Error) bool { return err.Field == nowhereInObject })
	if len(placed) == 0 {
		placed = found
	}
	for _, err := range placed {
		faults = append(faults, faultOf(err))
	}
	slices.SortStableFunc(faults, func(a, b specFault) int { return cmp.Compare(a.path, b.path) })
	return slices.Compact(faults)
}

// complete adds the defaults to an object, and drops nulls where they say
// nothing, as the API server does.
func (s *objectSchema) complete(object map[string]any) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
}

// nowhereInObject is the path of errors that repeat another one without saying
// where it is.
const nowhereInObject = "<nil>"

// faultOf says what is wrong without the path and the value, which the caller
// has.
func faultOf(err *field.Error) specFault {
	fault := specFault{path: err.Field, what: err.Detail}
	if err.Field == nowhereInObject {
		fault.path = "spec"
	}
	if _, detail, found := strings.Cut(fault.what, " in body "); found {
		fault.what = detail
	}
	if _, rule, found := strings.Cut(fault.what, " evaluating rule: "); found {
		fault.what = rule
	}
	switch err.Type {
	case field.ErrorTypeRequired:
		fault.what = "is required"
	case field.ErrorTypeDuplicate:
		fault.what = "is there twice"
		// The lists of a spec that are maps have one key.
		if keys, isMap := err.BadValue.(map[string]any); isMap {
			for key := range keys {
				fault.path += "." + key
			}
		}
	}
	fault.what = CleanText(cmp.Or(fault.what, err.Type.String()), MaxMessageBytes)
	return fault
}
