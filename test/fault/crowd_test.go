// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestP3FiveThousandPodsAreDeletedAtOnce: all of them go, and none but them. It
// runs by itself: the others' bounds are for a cluster that is not this busy.
func TestP3FiveThousandPodsAreDeletedAtOnce(t *testing.T) {
	const doomed, kept = 5000, 10
	s := newScenario(t, sharedConfig(t))
	stays, changes, goes, shop := s.shop()
	crowd := s.createNamespace()
	s.startAgent(s.config, agentOptions{namespaces: []string{s.namespace, crowd}})
	s.createPods(crowd, "kept", kept)
	s.createPods(crowd, "doomed", doomed)
	const unknown = -1
	count := func() int {
		v, err := look(t.Context(), s.server, s.namespace)
		if err != nil {
			return unknown
		}
		return v.Cluster.Pods
	}
	const others = 3 // the shop's
	s.eventually(4*time.Minute, "the server has them all", func() bool { return count() == doomed+kept+others })
	s.shown(startWithin, stays, changes, goes, shop)

	s.eventually(4*time.Minute, "they are deleted", func() bool {
		err := s.cluster.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(crowd),
			client.MatchingLabels{"fate": "doomed"}, client.GracePeriodSeconds(0))
		var refused apierrors.APIStatus
		if errors.As(err, &refused) && !apierrors.IsTimeout(err) {
			t.Fatal(err)
		}
		// The API server may need more than the minute that a request may take, and
		// ends it then, with an answer or without one.
		return err == nil
	})
	deletedAt := time.Now()
	s.eventually(2*goOnBound, "they are gone", func() bool {
		n := count()
		if n != unknown && n < kept+others {
			t.Fatalf("The server shows %d pods, there are %d", n, kept+others)
		}
		return n == kept+others
	})
	s.detected("5,000 pods that are gone", time.Since(deletedAt), goOnBound)
	s.setPod(changes, "CrashLoopBackOff")
	s.detected("a change after it", s.shown(2*goOnBound, stays, changes, goes, shop), goOnBound)
}

// createPods creates n pods in a namespace as fast as the API server takes them.
func (s *scenario) createPods(namespace, fate string, n int) {
	s.t.Helper()
	group, ctx := errgroup.WithContext(s.t.Context())
	group.SetLimit(16)
	for i := range n {
		group.Go(func() error {
			return s.cluster.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", fate, i), Labels: map[string]string{"fate": fate}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
			})
		})
	}
	s.must(group.Wait())
}
