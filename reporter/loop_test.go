// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/internal/failurelog"
	"github.com/styrmin/styrmin/internal/serverclient"
)

var testStart = time.Date(2026, 11, 29, 16, 40, 5, 0, time.UTC)

// fakeSource is a source that holds what the test says.
type fakeSource[T client.Object] struct {
	objects []T
	proven  func() time.Time
	err     error
}

func (s *fakeSource[T]) run(ctx context.Context) { <-ctx.Done() }

func (s *fakeSource[T]) read(context.Context) (*reading[T], time.Time, error) {
	if s.err != nil {
		return nil, time.Time{}, s.err
	}
	return &reading[T]{s.objects}, s.proven(), nil
}

// harness is a reporter between fake sources and a model server.
type harness struct {
	*reporter
	server      *modelServer
	fakeClock   *clocktesting.FakeClock
	pods        *fakeSource[*corev1.Pod]
	deployments *fakeSource[*styrminv1.StyrminDeployment]
	registry    *prometheus.Registry
	clusterUID  string
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	server := newModelServer(t)
	fakeClock := clocktesting.NewFakeClock(testStart)
	registry := prometheus.NewRegistry()
	instruments, err := newInstruments(registry)
	if err != nil {
		t.Fatal(err)
	}
	client, err := serverclient.New(server.URL, "", "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{
		server:      server,
		fakeClock:   fakeClock,
		pods:        &fakeSource[*corev1.Pod]{proven: fakeClock.Now},
		deployments: &fakeSource[*styrminv1.StyrminDeployment]{proven: fakeClock.Now},
		registry:    registry,
		clusterUID:  "cluster-uid",
	}
	h.reporter = &reporter{
		log:         testr.New(t),
		clock:       fakeClock,
		client:      client,
		clusterUID:  func(context.Context) (string, error) { return h.clusterUID, nil },
		identity:    OpenReportSessionInput{AgentId: "agent-0", AgentVersion: "v1"},
		interval:    5 * time.Second,
		pods:        h.pods,
		deployments: h.deployments,
		metrics:     instruments,
		health:      newHealth(fakeClock),
		failures:    failurelog.New(fakeClock),
	}
	return h
}

func testPod(namespace, name string, mutate ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1",
			CreationTimestamp: metav1.NewTime(testStart.Add(-time.Hour)),
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, m := range mutate {
		m(pod)
	}
	return pod
}

func testDeployment(name string, mutate ...func(*styrminv1.StyrminDeployment)) *styrminv1.StyrminDeployment {
	deployment := &styrminv1.StyrminDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "styrmin", Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1", Generation: 1},
		Spec:       styrminv1.StyrminDeploymentSpec{Environment: "prod"},
	}
	for _, m := range mutate {
		m(deployment)
	}
	return deployment
}

var errTest = errors.New("the test says so")

// mustCycle runs one cycle that has to succeed.
func mustCycle(t *testing.T, l *loop) {
	t.Helper()
	if err := l.cycle(t.Context()); err != nil {
		t.Fatalf("cycle: %v", err)
	}
}

func TestP1OneSnapshotHasTwoHalvesPodsFirstUnderOneSequence(t *testing.T) {
	h := newHarness(t)
	h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-0")}
	h.deployments.objects = []*styrminv1.StyrminDeployment{testDeployment("shop")}
	l := newLoop(h.reporter)
	mustCycle(t, l)
	mustCycle(t, l)

	requests := h.server.received()
	want := []string{"OpenReportSession", "ReportPodStatuses", "ReportDeploymentStatuses", "ReportPodStatuses", "ReportDeploymentStatuses"}
	if diff := cmp.Diff(want, operations(requests)); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	sequences := make([]int64, 0, len(requests))
	for _, request := range requests[1:] {
		sequences = append(sequences, request.Variables.Report.Sequence)
	}
	if diff := cmp.Diff([]int64{1, 1, 2, 2}, sequences); diff != "" {
		t.Errorf("sequences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"prod-shop/shop-0"}, h.server.podNames()); diff != "" {
		t.Errorf("stored pods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop"}, h.server.deploymentNames()); diff != "" {
		t.Errorf("stored deployments (-want +got):\n%s", diff)
	}
}

func TestP3WhatCannotBeReadIsNotSentAndDeletesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		fail            func(h *harness)
		wantOperations  []string
		wantPods        []string
		wantDeployments []string
	}{
		"the informers have not synced (case B01)": {
			fail:            func(h *harness) { h.pods.err, h.deployments.err = errNotSynced, errNotSynced },
			wantOperations:  []string{},
			wantPods:        []string{"prod-shop/shop-0"},
			wantDeployments: []string{"shop"},
		},
		"the list of StyrminDeployments fails while that of pods works (case B02)": {
			fail:            func(h *harness) { h.deployments.err = errTest },
			wantOperations:  []string{"ReportPodStatuses"},
			wantPods:        []string{},
			wantDeployments: []string{"shop"},
		},
		"the list of pods fails while that of StyrminDeployments works": {
			fail:            func(h *harness) { h.pods.err = errTest },
			wantOperations:  []string{"ReportDeploymentStatuses"},
			wantPods:        []string{"prod-shop/shop-0"},
			wantDeployments: []string{},
		},
		"a genuinely empty cluster does delete": {
			fail:            func(*harness) {},
			wantOperations:  []string{"ReportPodStatuses", "ReportDeploymentStatuses"},
			wantPods:        []string{},
			wantDeployments: []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.pods.objects = []*corev1.Pod{testPod("prod-shop", "shop-0")}
			h.deployments.objects = []*styrminv1.StyrminDeployment{testDeployment("shop")}
			l := newLoop(h.reporter)
			mustCycle(t, l)
			h.server.received()

			h.pods.objects, h.deployments.objects = nil, nil
			tc.fail(h)
			mustCycle(t, l)
			if diff := cmp.Diff(tc.wantOperations, operations(h.server.received())); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantPods, h.server.podNames()); diff != "" {
				t.Errorf("stored pods (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantDeployments, h.server.deploymentNames()); diff != "" {
				t.Errorf("stored deployments (-want +got):\n%s", diff)
			}
		})
	}
}

// sameReading is a source whose objects do not change.
type sameReading[T client.Object] struct {
	*fakeSource[T]
	objects *reading[T]
}

func (s *sameReading[T]) read(context.Context) (*reading[T], time.Time, error) {
	return s.objects, s.proven(), nil
}

// TestP7PodsThatHaveNotChangedAreGoneThroughOnce, unless their components have
// changed: the rows have their names.
func TestP7PodsThatHaveNotChangedAreGoneThroughOnce(t *testing.T) {
	h := newHarness(t)
	pod := testPod("prod-shop", "server-0", func(p *corev1.Pod) { p.Labels = map[string]string{"component": "server"} })
	h.reporter.pods = &sameReading[*corev1.Pod]{h.pods, &reading[*corev1.Pod]{[]*corev1.Pod{pod}}}
	l := newLoop(h.reporter)
	mustCycle(t, l)
	updates := l.podTable.snapshot
	h.deployments.err = errTest
	mustCycle(t, l)
	if got := l.podTable.snapshot; got != updates {
		t.Errorf("The pods are gone through %d times", got)
	}
	h.deployments.err = nil
	h.deployments.objects = []*styrminv1.StyrminDeployment{
		testDeployment("shop", withTarget("prod-shop"), withComponents(componentOf("server", map[string]string{"component": "server"}))),
	}
	mustCycle(t, l)
	if component := h.server.storedPods()["prod-shop/uid-of-server-0"].Component; ptr.Deref(component, "") != "server" {
		t.Errorf("component = %v", component)
	}
}

// TestP3AKindThatTakesLongDoesNotHoldUpTheOther for ever: what has aged meanwhile is
// read again.
func TestP3AKindThatTakesLongDoesNotHoldUpTheOther(t *testing.T) {
	for name, tc := range map[string]struct {
		makeSlow func(h *harness, takes func())
		held     kind
	}{
		"pods": {held: kindDeployments, makeSlow: func(h *harness, takes func()) {
			h.server.intercept = func(_ http.ResponseWriter, _ *http.Request, request *modelRequest) bool {
				if request.OperationName == "ReportPodStatuses" {
					takes()
				}
				return false
			}
		}},
		"deployments": {held: kindPods, makeSlow: func(h *harness, takes func()) {
			first, now := true, h.fakeClock.Now()
			h.pods.proven = func() time.Time {
				if first {
					first = false
					return now
				}
				return h.fakeClock.Now()
			}
			h.deployments.proven = func() time.Time {
				takes()
				return h.fakeClock.Now()
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			tc.makeSlow(h, func() { h.fakeClock.Step(maxSentAge + time.Second) })
			mustCycle(t, newLoop(h.reporter))
			requests := h.server.received()
			want := []string{"OpenReportSession", "ReportPodStatuses", "ReportDeploymentStatuses"}
			if diff := cmp.Diff(want, operations(requests)); diff != "" {
				t.Fatalf("operations (-want +got):\n%s", diff)
			}
			held := requests[1]
			if tc.held == kindDeployments {
				held = requests[2]
			}
			if got := held.Variables.Report.ObservedAt; !got.Equal(h.fakeClock.Now()) {
				t.Errorf("%s are told to be of %s, it is %s", tc.held, got, h.fakeClock.Now())
			}
		})
	}
}

func withPhase(phase styrminv1.Phase) func(*styrminv1.StyrminDeployment) {
	return func(d *styrminv1.StyrminDeployment) {
		d.ResourceVersion = string(phase)
		d.Status.Phase = phase
	}
}
