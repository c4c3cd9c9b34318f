// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// smallShop is the sample with one server pod and no database, for tests of many.
func smallShop(namespace, environment, name string) *styrminv1.StyrminDeployment {
	selector := func(component string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/component": component}}
	}
	return &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: styrminv1.StyrminDeploymentSpec{
			InstanceID:  "first",
			Environment: environment,
			Secrets:     []styrminv1.SecretSpec{{Name: "token", Generate: &styrminv1.GenerateSpec{Keys: []string{"token"}}}},
			HelmRelease: styrminv1.HelmReleaseSpec{
				ReleaseName: "shop",
				Chart:       styrminv1.ChartSpec{Repository: sys.ChartsURL, Name: "shop", Version: "2.4.1"},
				Timeout:     &metav1.Duration{Duration: 2 * time.Minute},
				Values:      &apiextensionsv1.JSON{Raw: []byte(`{"server": {"image": "registry.example/shop-server:1"}}`)},
			},
			Components: []styrminv1.ComponentSpec{
				{Name: "server", Replicas: 1, ReplicasValue: "server.replicas", Selector: selector("server")},
				{Name: "database", ReplicasValue: "database.replicas", Selector: selector("database")},
			},
			Services: []styrminv1.ServiceSpec{{Name: "web", Component: "server", Port: 80}},
		},
	}
}
