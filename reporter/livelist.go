// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// pageSize is how many objects one request of a live list asks for.
	pageSize = 500
	// pageTimeout is how long such a request may take, and liveListTimeout all of
	// them: what took longer would be too old to be sent.
	pageTimeout     = 10 * time.Second
	liveListTimeout = maxSentAge - defaultRequestTimeout/2
)

// errNoList is an answer that is no list, though it does not tell an error either.
var errNoList = errors.New("the answer is no list")

// liveLister lists a kind straight from the API server, whole or not at all.
type liveLister[T client.Object] struct {
	connection *connection
	newList    func() client.ObjectList
	// transform is the one of the informer.
	transform toolscache.TransformFunc
}

// list returns all objects as they were at one moment after it was called. The
// pages of a list are consistent; where the API server has forgotten the moment
// before the last page, the list fails.
func (l *liveLister[T]) list(ctx context.Context) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, liveListTimeout)
	defer cancel()
	// A connection that is kept for the next list may be frozen by then.
	defer l.connection.cut()
	var objects []T
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := l.page(ctx, &options)
		if err != nil {
			return nil, err
		}
		err = meta.EachListItem(page, func(item runtime.Object) error {
			transformed, err := l.transform(item)
			if err != nil {
				return err
			}
			object, ok := transformed.(T)
			if !ok {
				return fmt.Errorf("the list holds a %T", transformed)
			}
			objects = append(objects, object)
			return nil
		})
		if err != nil {
			return nil, err
		}
		options.Continue = page.GetContinue()
		if options.Continue == "" {
			return objects, nil
		}
	}
}

func (l *liveLister[T]) page(ctx context.Context, options *metav1.ListOptions) (client.ObjectList, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	page := l.newList()
	if err := l.connection.get(options).Do(ctx).Into(page); err != nil {
		return nil, fmt.Errorf("listing %s from the API server: %w", l.connection.resource.Resource, err)
	}
	// Every list that an API server makes has one. Any other JSON would be read as a
	// list without objects.
	if page.GetResourceVersion() == "" {
		return nil, fmt.Errorf("listing %s from the API server: %w", l.connection.resource.Resource, errNoList)
	}
	return page, nil
}
