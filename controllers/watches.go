// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// Indexes of StyrminDeployments in the manager's cache.
const (
	// indexTargetNamespace finds those whose target namespace it is.
	indexTargetNamespace = "styrmin.io/target-namespace"
	// indexCopiedFrom finds those that copy a Secret of their own namespace.
	indexCopiedFrom = "styrmin.io/copied-from"
)

func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for name, extract := range map[string]func(*styrminv1.StyrminDeployment) []string{
		indexTargetNamespace: func(d *styrminv1.StyrminDeployment) []string { return []string{d.TargetNamespace()} },
		indexCopiedFrom:      secretSources,
	} {
		err := indexer.IndexField(ctx, &styrminv1.StyrminDeployment{}, name, func(obj client.Object) []string {
			d, ok := obj.(*styrminv1.StyrminDeployment)
			if !ok {
				return nil
			}
			return extract(d)
		})
		if err != nil {
			return fmt.Errorf("indexing StyrminDeployments by %s: %w", name, err)
		}
	}
	return nil
}

func secretSources(d *styrminv1.StyrminDeployment) []string {
	var names []string
	for i := range d.Spec.Secrets {
		if from := d.Spec.Secrets[i].FromSecret; from != nil {
			names = append(names, from.Name)
		}
	}
	return names
}

// indexed returns requests for the StyrminDeployments that an index finds.
func (r *reconciler) indexed(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	list := &styrminv1.StyrminDeploymentList{}
	if err := r.cached.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "Could not look up StyrminDeployments for an event")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// sourceRequests maps a Secret to the StyrminDeployments that copy it.
func (r *reconciler) sourceRequests(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.indexed(ctx, client.InNamespace(obj.GetNamespace()), client.MatchingFields{indexCopiedFrom: obj.GetName()})
}

// inTargetNamespace maps pods and workloads to the StyrminDeployment whose
// target namespace they are in.
func (r *reconciler) inTargetNamespace(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.indexed(ctx, client.MatchingFields{indexTargetNamespace: obj.GetNamespace()})
}

// gathered enqueues the requests of objects that change. They do in bursts: pods
// start together, Flux writes a status in pieces, and the operator makes one
// object after the other. So the events are gathered for a moment.
func (r *reconciler) gathered(requests handler.MapFunc) handler.EventHandler {
	enqueue := func(ctx context.Context, obj client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range requests(ctx, obj) {
			q.AddAfter(request, r.opts.EventDelay)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				enqueue(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, q)
		},
	}
}

// ownStatusLost lets updates through after which the object lacks what the
// operator wrote: its status or its finalizer. Its own writes are no reason to
// reconcile.
func ownStatusLost() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*styrminv1.StyrminDeployment)
			if !ok {
				return false
			}
			after, ok := e.ObjectNew.(*styrminv1.StyrminDeployment)
			if !ok {
				return false
			}
			return (before.Status.InstanceID != "" && after.Status.InstanceID == "") ||
				len(after.Finalizers) < len(before.Finalizers)
		},
	}
}
