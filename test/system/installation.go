// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tokenSeconds is how long a ServiceAccount's token is good for: longer than any
// run of the tests.
const tokenSeconds int64 = 24 * 60 * 60

// leaseName is the Lease that the leading manager holds.
const leaseName = "styrmin-manager"

// installation is what the product's manifests say of the manager.
type installation struct {
	namespace, serviceAccount string
	args                      []string
	// kubeconfig is a file with the rights of the ServiceAccount and no others, once a
	// manager was started.
	kubeconfig string
}

// install applies the manifests but for the manager's Deployment, whose program
// runs here.
func (s *System) install(ctx context.Context) (*installation, error) {
	objects, err := Load(s.opts.Manifests)
	if err != nil {
		return nil, err
	}
	var manager *appsv1.Deployment
	for _, object := range objects {
		switch object.GetKind() {
		case "Deployment":
			manager = &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, manager); err != nil {
				return nil, fmt.Errorf("reading Deployment %s: %w", object.GetName(), err)
			}
			continue
		case "CustomResourceDefinition":
			if err := s.Apply(ctx, object); err != nil {
				return nil, err
			}
			if err := s.waitEstablished(ctx, object.GetName()); err != nil {
				return nil, err
			}
			continue
		}
		if err := s.Apply(ctx, object); err != nil {
			return nil, err
		}
	}
	if manager == nil {
		return nil, fmt.Errorf("%s has no Deployment of the manager", s.opts.Manifests)
	}
	return &installation{
		namespace:      manager.Namespace,
		serviceAccount: manager.Spec.Template.Spec.ServiceAccountName,
		args:           manager.Spec.Template.Spec.Containers[0].Args,
		kubeconfig:     filepath.Join(s.opts.Dir, "manager-kubeconfig"),
	}, nil
}

// writeKubeconfig writes what the manager finds in its pod: the API server's
// address, its authority and the ServiceAccount's token.
func (s *System) writeKubeconfig(ctx context.Context, installed *installation) error {
	token, err := s.ServiceAccountToken(ctx, installed.namespace, installed.serviceAccount)
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil {
		return errors.New("the cluster's kubeconfig has no current context")
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{current.AuthInfo: {Token: token}}
	if err := clientcmd.WriteToFile(*config, installed.kubeconfig); err != nil {
		return fmt.Errorf("writing the manager's kubeconfig: %w", err)
	}
	return nil
}

// forgetLeader removes the Lease of a manager that was killed: the next one would
// wait until it has run out, as a second replica does.
func (s *System) forgetLeader(ctx context.Context, installed *installation) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: installed.namespace, Name: leaseName}}
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, lease)); err != nil {
		return fmt.Errorf("removing the last leader's Lease: %w", err)
	}
	return nil
}

// ServiceAccountToken asks the API server for a token, as the kubelet does for a
// pod.
func (s *System) ServiceAccountToken(ctx context.Context, namespace, name string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	seconds := tokenSeconds
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := s.Client.SubResource("token").Create(ctx, account, request, &client.SubResourceCreateOptions{}); err != nil {
		return "", fmt.Errorf("getting a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// ManagerKubeconfig is the kubeconfig that the manager runs with.
func (s *System) ManagerKubeconfig() string {
	if s.installed == nil {
		return s.Kubeconfig
	}
	return s.installed.kubeconfig
}
