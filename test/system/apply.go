// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldOwner is the field manager of what the demo and the tests apply.
const fieldOwner = client.FieldOwner("styrmin-demo")

// Load reads the objects of a YAML file, one or several documents.
func Load(path string) ([]*unstructured.Unstructured, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return decode(file, path)
}

// decode reads objects from what is named source.
func decode(from io.Reader, source string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(from, 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", source, err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// Apply writes objects as kubectl apply --server-side does.
func (s *System) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// ApplySample applies the samples of a folder, with the chart repository that
// this system serves.
func (s *System) ApplySample(ctx context.Context, dir string) error {
	for _, file := range []string{"namespace.yaml", "shop.yaml"} {
		objects, err := Load(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		for _, object := range objects {
			if object.GetKind() != "StyrminDeployment" {
				continue
			}
			if err := unstructured.SetNestedField(object.Object, s.ChartsURL, "spec", "helmRelease", "chart", "repository"); err != nil {
				return err
			}
		}
		if err := s.Apply(ctx, objects...); err != nil {
			return err
		}
	}
	return nil
}

// applyCRDs installs the product's custom resources and waits until they are served.
func (s *System) applyCRDs(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(s.opts.CRDs, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no custom resource definitions in %s", s.opts.CRDs)
	}
	for _, file := range files {
		objects, err := Load(file)
		if err != nil {
			return err
		}
		if err := s.Apply(ctx, objects...); err != nil {
			return err
		}
		for _, object := range objects {
			if err := s.waitEstablished(ctx, object.GetName()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *System) waitEstablished(ctx context.Context, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		if err := s.Client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return false, err
		}
		typed := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, typed); err != nil {
			return false, err
		}
		for _, c := range typed.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be served: %w", name, err)
	}
	return nil
}
