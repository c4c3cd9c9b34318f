// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate makes clusters for load tests.
package generate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// writers is how many requests are made of the API server at the same time.
const writers = 32

// Options say how large a cluster is.
type Options struct {
	Pods, Namespaces, Deployments int
}

// Cluster is an API server that is filled.
type Cluster struct {
	client  client.Client
	options Options
}

// New returns a cluster behind the API server of config, of which nothing is
// made yet.
func New(config *rest.Config, options Options) (*Cluster, error) {
	if options.Pods < 0 || options.Namespaces < 1 || options.Deployments < 0 || options.Deployments > options.Namespaces {
		return nil, errors.New("there must be a namespace at least, and one for each StyrminDeployment")
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, styrminv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return &Cluster{client: c, options: options}, nil
}

// Fill makes what is not there yet of the namespaces, StyrminDeployments and
// pods, each with the status of something that runs.
func (c *Cluster) Fill(ctx context.Context) error {
	for _, kind := range []struct {
		name string
		n    int
		make func(context.Context, int) error
	}{
		{"namespace", c.options.Namespaces, c.makeNamespace},
		{"StyrminDeployment", c.options.Deployments, c.makeDeployment},
		{"pod", c.options.Pods, c.makePod},
	} {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(writers)
		for i := range kind.n {
			group.Go(func() error {
				if err := kind.make(ctx, i); err != nil && !apierrors.IsAlreadyExists(err) {
					return fmt.Errorf("making %s %d: %w", kind.name, i, err)
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) namespace(i int) string {
	return fmt.Sprintf("prod-app-%03d", i%c.options.Namespaces)
}

func (c *Cluster) makeNamespace(ctx context.Context, i int) error {
	return c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace(i)}})
}

func (c *Cluster) makeDeployment(ctx context.Context, i int) error {
	object := deployment(c.namespace(i))
	status := object.Status
	if err := c.client.Create(ctx, object); err != nil {
		return err
	}
	object.Status = status
	object.Status.ObservedGeneration, object.Status.InstanceID = object.Generation, object.InstanceID()
	return c.client.Status().Update(ctx, object)
}

func (c *Cluster) makePod(ctx context.Context, i int) error {
	object := pod(c.namespace(i), i)
	status := object.Status
	if err := c.client.Create(ctx, object); err != nil {
		return err
	}
	object.Status = status
	return c.client.Status().Update(ctx, object)
}

// Change changes the statuses of pods, one after the other, at a rate per
// second, until the context ends. It returns how many it has changed: fewer where
// the API server does not take so many.
func (c *Cluster) Change(ctx context.Context, rate int) (int, error) {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	var changed atomic.Int64
	group, changing := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := 0; changing.Err() == nil; i++ {
		group.Go(func() error { return c.change(changing, i, &changed) })
		select {
		case <-ticker.C:
		case <-changing.Done():
		}
	}
	err := group.Wait()
	if ctx.Err() != nil && (err == nil || errors.Is(err, ctx.Err())) {
		err = nil // It was told to end.
	}
	return int(changed.Load()), err
}

// change makes a container of the i-th pod restart once more, as the kubelet
// does: the pod is not ready at first, the next time it is.
func (c *Cluster) change(ctx context.Context, i int, changed *atomic.Int64) error {
	round, at := i/c.options.Pods, i%c.options.Pods
	object := pod(c.namespace(at), at)
	patch := statusPatch(object, round)
	// One that has begun comes to its end.
	if err := c.client.Status().Patch(context.WithoutCancel(ctx), object, client.RawPatch(patchType, patch)); err != nil {
		return fmt.Errorf("changing pod %d: %w", at, err)
	}
	changed.Add(1)
	return nil
}

// MarkedNamespace is the namespace of the pods that Mark changes.
func (c *Cluster) MarkedNamespace() string { return c.namespace(0) }

// Marked is how many pods Mark changes in turn.
func (c *Cluster) Marked() int { return max(1, c.options.Pods/c.options.Namespaces) }

// Mark writes a message into the status of a pod of MarkedNamespace, of each in
// turn.
func (c *Cluster) Mark(ctx context.Context, i int, message string) error {
	at := i % c.Marked() * c.options.Namespaces
	object := pod(c.namespace(at), at)
	patch := fmt.Appendf(nil, `{"status":{"message":%q}}`, message)
	if err := c.client.Status().Patch(ctx, object, client.RawPatch(patchType, patch)); err != nil {
		return fmt.Errorf("marking pod %d: %w", at, err)
	}
	return nil
}
