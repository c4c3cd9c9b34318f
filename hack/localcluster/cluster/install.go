// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// newClient returns a client without a cache: the local cluster reads little and wants it current.
func newClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400 // The default of 5 a second would take most of the start.
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return c, nil
}

// installCRDs creates each CustomResourceDefinition of the file system, or updates it, and waits until all are served.
func installCRDs(ctx context.Context, c client.Client, files fs.FS) error {
	paths, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return err
	}
	var names []string
	for _, path := range paths {
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &crd); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		crd.Labels = map[string]string{installedByUs: "true"}
		if err := createOrUpdate(ctx, c, &crd); err != nil {
			return fmt.Errorf("install the CustomResourceDefinition %s: %w", crd.Name, err)
		}
		names = append(names, crd.Name)
	}
	for _, name := range names {
		if err := await(ctx, "serve "+name, established(c, name)); err != nil {
			return err
		}
	}
	return nil
}

func createOrUpdate(ctx context.Context, c client.Client, wanted *apiextensionsv1.CustomResourceDefinition) error {
	err := c.Create(ctx, wanted.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var existing apiextensionsv1.CustomResourceDefinition
	if err := c.Get(ctx, client.ObjectKeyFromObject(wanted), &existing); err != nil {
		return err
	}
	if existing.Labels[installedByUs] == "" {
		return nil // Somebody else's, who needs it as it is.
	}
	existing.Spec = wanted.Spec
	return c.Update(ctx, &existing)
}

func established(c client.Client, name string) func(context.Context) error {
	return func(ctx context.Context) error {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
			return err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("%s is not established", name)
	}
}
