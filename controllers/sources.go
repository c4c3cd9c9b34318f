// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// copiedSecrets watches the secrets that StyrminDeployments copy: the metadata
// of those in the namespaces of such StyrminDeployments, and of no other
// namespace. A namespace is watched from the first copy until the manager ends;
// there are as many as have ever held a StyrminDeployment that copies.
type copiedSecrets struct {
	mgr     ctrl.Manager
	watcher controller.Controller
	handler handler.EventHandler

	mu     sync.Mutex
	caches map[string]cache.Cache
}

// cache returns a cache of the metadata of a namespace's secrets, which the
// manager may still be starting.
func (w *copiedSecrets) cache(namespace string) (cache.Cache, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.caches[namespace]; c != nil {
		return c, nil
	}
	c, err := cache.New(w.mgr.GetConfig(), cache.Options{
		HTTPClient:        w.mgr.GetHTTPClient(),
		Scheme:            w.mgr.GetScheme(),
		Mapper:            w.mgr.GetRESTMapper(),
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		ByObject:          map[client.Object]cache.ByObject{&corev1.Secret{}: {Transform: leanMetadata}},
	})
	if err != nil {
		return nil, fmt.Errorf("making a cache of the secrets of %s: %w", namespace, err)
	}
	if err := w.mgr.Add(runnableCache{c}); err != nil {
		return nil, fmt.Errorf("adding the cache of the secrets of %s: %w", namespace, err)
	}
	if err := w.watcher.Watch(source.Kind[client.Object](c, secretMetadata(), w.handler)); err != nil {
		return nil, fmt.Errorf("watching the secrets of %s: %w", namespace, err)
	}
	w.caches[namespace] = c
	return c, nil
}

// version identifies the contents of a secret that is copied; empty: there is none.
func (w *copiedSecrets) version(ctx context.Context, key client.ObjectKey) (string, error) {
	c, err := w.cache(key.Namespace)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, cacheReadTimeout)
	defer cancel()
	if !c.WaitForCacheSync(ctx) {
		return "", fmt.Errorf("the API server has not let the secrets of %s be listed yet, the operator's log says why", key.Namespace)
	}
	return secretVersion(ctx, promptReader{c}, key)
}
