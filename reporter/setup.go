// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/internal/failurelog"
	"github.com/styrmin/styrmin/internal/serverclient"
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
	server, err := serverclient.New(options.ServerAddress, options.TokenFile, options.CAFile, options.RequestTimeout)
	if err != nil {
		return fmt.Errorf("reporter: %w", err)
	}
	namespaces, err := newConnection(mgr.GetConfig(), mgr.GetScheme(), namespaceResource)
	if err != nil {
		return fmt.Errorf("reporter: connecting to the API server for the cluster's UID: %w", err)
	}
	instruments, err := newInstruments(options.Metrics)
	if err != nil {
		return fmt.Errorf("reporter: %w", err)
	}
	server.OnSent(func(operation string, raw, compressed int) {
		instruments.bytes.WithLabelValues(operation, "raw").Add(float64(raw))
		instruments.bytes.WithLabelValues(operation, "gzip").Add(float64(compressed))
	})
	r := &reporter{
		log:        mgr.GetLogger().WithName("reporter"),
		clock:      options.Clock,
		client:     server,
		clusterUID: clusterUIDReader(namespaces),
		identity: OpenReportSessionInput{
			AgentId:      cleanText(options.AgentID),
			AgentVersion: cleanText(options.AgentVersion),
			ClusterId:    optionalText(options.ClusterID),
		},
		interval: options.Interval,
		metrics:  instruments,
		health:   newHealth(options.Clock),
		failures: failurelog.New(options.Clock),
	}
	if err := r.addSources(mgr, &selection{podSelector: options.PodSelector, namespaces: sets.New(options.Namespaces...)}); err != nil {
		return fmt.Errorf("reporter: %w", err)
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
func clusterUIDReader(namespaces *connection) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		defer namespaces.cut() // One that is kept may be frozen by the next time.
		uid, err := namespaces.uid(ctx, metav1.NamespaceSystem)
		return string(uid), err
	}
}

// addSources makes the sources of both kinds, each with connections of its own
// to the API server.
func (r *reporter) addSources(mgr ctrl.Manager, selection *selection) error {
	pods, _, err := newSource[*corev1.Pod](r, mgr, sourceSpec{
		kind: kindPods, example: &corev1.Pod{}, resource: podResource,
		newList: func() client.ObjectList { return &corev1.PodList{} }, transform: podTransform,
	})
	if err != nil {
		return err
	}
	pods.selects = selection.hasPod
	deployments, probe, err := newSource[*styrminv1.StyrminDeployment](r, mgr, sourceSpec{
		kind: kindDeployments, example: &styrminv1.StyrminDeployment{}, resource: deploymentResource,
		newList: func() client.ObjectList { return &styrminv1.StyrminDeploymentList{} }, transform: deploymentTransform,
	})
	if err != nil {
		return err
	}
	deployments.selects = func(*styrminv1.StyrminDeployment) bool { return true }
	deployments.confirmLoss = probe.staysServed
	r.pods, r.deployments = pods, deployments
	return nil
}

// sourceSpec is what the sources of the kinds differ in.
type sourceSpec struct {
	kind      kind
	example   client.Object
	resource  schema.GroupVersionResource
	newList   func() client.ObjectList
	transform toolscache.TransformFunc
}

// newSource makes a source, and returns the connection of its proofs with it.
func newSource[T client.Object](r *reporter, mgr ctrl.Manager, spec sourceSpec) (*informerSource[T], *connection, error) {
	probe, err := newConnection(mgr.GetConfig(), mgr.GetScheme(), spec.resource)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the API server for the proofs of %s: %w", spec.kind, err)
	}
	live, err := newConnection(mgr.GetConfig(), mgr.GetScheme(), spec.resource)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the API server for lists of %s: %w", spec.kind, err)
	}
	store := &informerStore{informers: mgr.GetCache(), example: spec.example}
	return &informerSource[T]{
		clock: r.clock,
		store: store,
		proof: newProver(r.clock, probe, store.version, func(err error) {
			r.metrics.proofs.WithLabelValues(string(spec.kind), proofResult(err)).Inc()
			if !errors.Is(err, errNotSynced) {
				r.failures.Outcome(r.log, "proving that the informer of "+string(spec.kind)+" is current", err)
			}
		}),
		live: &liveLister[T]{connection: live, newList: spec.newList, transform: spec.transform},
		observeLive: func(err error) {
			r.metrics.liveLists.WithLabelValues(string(spec.kind), resultOf(err)).Inc()
		},
	}, probe, nil
}
