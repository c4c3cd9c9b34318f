// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// startReview looks, when the operator starts, for what it cannot work without:
// the permissions of its role, and the CustomResourceDefinition of its version.
// Without them it would sit still and look well (H01, H02). What is missing is
// logged by name, keeps the manager from being ready and is looked for again
// until it is there.
type startReview struct {
	client client.Client
	live   client.Reader
	// cache is only for GetCache.
	cache cache.Cache
	// interval is the time between two looks while something is missing.
	interval time.Duration
	asked    chan struct{}

	mu       sync.Mutex
	looked   bool
	problems []string
}

// GetCache makes the manager start the review together with the caches: it must
// say why they do not sync, and what comes after them would wait for that.
func (v *startReview) GetCache() cache.Cache { return v.cache }

// again asks for another look: something was missing after all.
func (v *startReview) again() {
	select {
	case v.asked <- struct{}{}:
	default: // One is asked for already.
	}
}

// Start looks until nothing is missing, and then whenever it is asked to.
func (v *startReview) Start(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-v.asked:
		case <-timer.C:
		}
		problems := v.look(ctx)
		v.note(ctx, problems)
		if len(problems) > 0 {
			timer.Reset(v.interval)
		}
	}
}

// look returns what is missing.
func (v *startReview) look(ctx context.Context) []string {
	var problems []string
	if err := checkServedSchema(ctx, v.live); err != nil {
		problems = append(problems, err.Error())
	}
	for _, p := range neededPermissions() {
		allowed, err := v.isAllowed(ctx, p)
		if err != nil {
			return append(problems, fmt.Sprintf("asking whether the operator may %s: %s", p, err))
		}
		if !allowed {
			problems = append(problems, fmt.Sprintf("the operator may not %s: its role lacks that", p))
		}
	}
	return problems
}

func (v *startReview) isAllowed(ctx context.Context, p permission) (bool, error) {
	resource, subresource, _ := strings.Cut(p.resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: p.verb, Group: p.group, Resource: resource, Subresource: subresource, Name: p.name,
		},
	}}
	if err := v.client.Create(ctx, review); err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// note keeps the problems for check, counts them and logs those that are new.
func (v *startReview) note(ctx context.Context, problems []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, problem := range problems {
		if !slices.Contains(v.problems, problem) {
			log.FromContext(ctx).Error(errors.New(problem), "The operator cannot work as it should", "lookingAgainAfter", v.interval)
		}
	}
	if len(problems) == 0 && len(v.problems) > 0 {
		log.FromContext(ctx).Info("The operator has all that it needs now")
	}
	startProblems.Set(float64(len(problems)))
	v.looked, v.problems = true, problems
}

// check is a readiness check that fails while something is missing.
func (v *startReview) check(*http.Request) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.looked {
		return errors.New("the operator has not reviewed its permissions yet")
	}
	if len(v.problems) > 0 {
		return errors.New(strings.Join(v.problems, "; "))
	}
	return nil
}
