// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups=styrmin.io,resources=styrmindeployments,verbs=list;watch

// SetupWithManager adds the reporter to the manager: a leader-only Runnable, the
// readiness check "reporter" and the metrics styrmin_reporter_…. Options that
// are missing or wrong, and files that cannot be read, are errors.
func SetupWithManager(mgr ctrl.Manager, options Options) error {
	options, err := options.complete()
	if err != nil {
		return fmt.Errorf("reporter: %w", err)
	}
	server, err := newServerClient(options.ServerAddress, options.TokenFile, options.CAFile, options.RequestTimeout)
	if err != nil {
		return fmt.Errorf("reporter: %w", err)
	}
	instruments, err := newInstruments(options.Metrics)
	if err != nil {
		return fmt.Errorf("reporter: %w", err)
	}
	server.sent = func(operation string, raw, compressed int) {
		instruments.bytes.WithLabelValues(operation, "raw").Add(float64(raw))
		instruments.bytes.WithLabelValues(operation, "gzip").Add(float64(compressed))
	}
	selection := &selection{podSelector: options.PodSelector, namespaces: sets.New(options.Namespaces...)}
	r := &reporter{
		log:        mgr.GetLogger().WithName("reporter"),
		clock:      options.Clock,
		client:     server,
		clusterUID: clusterUIDReader(mgr.GetAPIReader()),
		identity: OpenReportSessionInput{
			AgentId:      cleanText(options.AgentID),
			AgentVersion: cleanText(options.AgentVersion),
			ClusterId:    optionalText(options.ClusterID),
		},
		interval: options.Interval,
		pods: &informerSource[*corev1.Pod]{
			informers: mgr.GetCache(), example: &corev1.Pod{}, selects: selection.hasPod, clock: options.Clock,
		},
		deployments: &informerSource[*styrminv1.StyrminDeployment]{
			informers: mgr.GetCache(), example: &styrminv1.StyrminDeployment{}, selects: selection.hasDeployment, clock: options.Clock,
		},
		metrics:  instruments,
		health:   newHealth(options.Clock),
		failures: newFailureLog(options.Clock),
	}
	if err := mgr.AddReadyzCheck("reporter", r.health.check); err != nil {
		return fmt.Errorf("reporter: adding the readiness check: %w", err)
	}
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("reporter: adding it to the manager: %w", err)
	}
	return nil
}

// clusterUIDReader reads the UID of the kube-system namespace, which stands for
// the cluster, from the API server itself.
func clusterUIDReader(reader client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
			return "", err
		}
		return string(namespace.UID), nil
	}
}
