// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestW3WhatAFlowWritesEndsWithItsLease(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	l := newLease(clock, clock.Now().Add(10*time.Second))
	held, release, err := l.hold(t.Context())
	if err != nil || held.Err() != nil {
		t.Fatal(err, held.Err())
	}
	defer release()
	clock.Step(9 * time.Second)
	if held.Err() != nil || !l.isHeld() {
		t.Error("the lease ended before its time")
	}
	clock.Step(time.Second)
	<-held.Done()
	if l.isHeld() {
		t.Error("the lease is held after its end")
	}

	// Nothing can be begun until it is renewed.
	waiting, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the flow ends")
	cancel(reason)
	if _, _, err := l.hold(waiting); !errors.Is(err, reason) {
		t.Errorf("error %v, want why the flow ends", err)
	}
	begun := make(chan error)
	go func() {
		_, release, err := l.hold(t.Context())
		if err == nil {
			release()
		}
		begun <- err
	}()
	l.extend(clock.Now().Add(-time.Second)) // No renewal makes a lease end earlier.
	select {
	case err := <-begun:
		t.Errorf("it was begun without a lease: %v", err)
	default:
	}
	l.extend(clock.Now().Add(10 * time.Second))
	if err := <-begun; err != nil {
		t.Error(err)
	}
}

// inTheMiddle starts an upgrade that waits for the operator in its pre hook.
func (s *stage) inTheMiddle() string {
	s.Helper()
	s.running(shopSpec("2.4.0"))
	s.operator(func() { s.operatorHolds = true })
	task := s.upgrade("2.5.0")
	s.eventually("the upgrade waits for the operator", func() error {
		if hook := s.task(task).Steps[0]; len(hook.Tasks) == 0 || hook.Tasks[0].Status != "SUCCESS" {
			return fmt.Errorf("%+v", hook)
		}
		return nil
	})
	return task
}

// wantRuns waits until the worker runs the flow of the task, or does not any more.
func (s *stage) wantRuns(h *hands, task string, want bool) {
	s.Helper()
	s.eventually(fmt.Sprintf("the flow runs: %t", want), func() error {
		if h.flows.runs(task) != want {
			return errors.New("not so")
		}
		return nil
	})
}

// writes are the calls of the worker that write to the cluster.
func (h *hands) writes() []string {
	return slices.DeleteFunc(h.made(), func(call string) bool { return !strings.HasPrefix(call, "k8s") })
}

// applies are those of them that write a StyrminDeployment, with what they failed of.
func (h *hands) applies() []string {
	return slices.DeleteFunc(h.made(), func(call string) bool { return !strings.HasPrefix(call, "k8s apply") })
}

// TestW3AFlowWhoseTaskAnotherWorkerHasStops: the first worker is cut off from the
// server, and comes back when another one has its task.
func TestW3AFlowWhoseTaskAnotherWorkerHasStops(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.startWorker(briefly)
	task := s.inTheMiddle()
	s.eventually("no other flow runs", func() error {
		first.flows.mu.Lock()
		defer first.flows.mu.Unlock()
		if running := len(first.flows.leases); running != 1 {
			return fmt.Errorf("%d run", running)
		}
		return nil
	})
	// A renewal may have crossed the end of another flow.
	lost := testutil.ToFloat64(first.metrics.lostLeases)
	first.serverAway(true)
	before := len(first.writes())
	second := s.startWorker()
	s.wantRuns(second, task, true)
	first.serverAway(false)
	s.wantRuns(first, task, false)
	first.stop()
	s.operator(func() { s.operatorHolds = false })
	s.wantResult(task, "SUCCEEDED", "")
	if got := testutil.ToFloat64(first.metrics.lostLeases) - lost; got != 1 {
		t.Errorf("%v lost leases are counted, want 1", got)
	}
	if got := testutil.ToFloat64(first.metrics.tasks.WithLabelValues("UPDATE_VERSION", "lost")); got != 1 {
		t.Errorf("%v lost flows are counted, want 1", got)
	}
	if after := first.writes(); len(after) != before {
		t.Errorf("the worker that had lost its lease wrote: %v", after[before:])
	}
}

// TestW3AServerThatIsAwayCostsNoLease: it goes away more often than a task may
// lose its worker, each time for longer than the lease.
func TestW3AServerThatIsAwayCostsNoLease(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.startWorker(func(_ *hands, o *Options) { o.Lease = time.Second })
	task := s.inTheMiddle()
	for range 4 {
		h.serverAway(true)
		s.eventually("the lease has run out", func() error {
			if h.flows.areHeld() {
				return errors.New("not yet")
			}
			return nil
		})
		h.serverAway(false)
		s.eventually("the lease is renewed", func() error {
			if !h.flows.areHeld() {
				return errors.New("not yet")
			}
			return nil
		})
	}
	s.operator(func() { s.operatorHolds = false })
	s.wantResult(task, "SUCCEEDED", "")
}

// TestW3TheWorkerEndsCleanly: what it leaves is as it was, and the next worker need
// not wait for the lease to run out.
func TestW3TheWorkerEndsCleanly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	first := s.startWorker(func(_ *hands, o *Options) { o.Lease = time.Hour })
	task := s.inTheMiddle()
	first.stop()
	view := s.task(task)
	if view.Status != "RUNNING" || view.Steps[0].Status != "RUNNING" || view.Steps[0].Error != "" {
		t.Errorf("the task that was left is %+v", view)
	}
	s.operator(func() { s.operatorHolds = false })
	s.startWorker()
	s.wantResult(task, "SUCCEEDED", "")
	if got := testutil.ToFloat64(first.metrics.tasks.WithLabelValues("UPDATE_VERSION", "interrupted")); got != 1 {
		t.Errorf("%v interrupted flows are counted, want 1", got)
	}
}

// TestW3AWriteThatComesAfterItsLeaseChangesNothing: the first worker is cut off from
// the server while its write is on its way to the cluster. Before that gets there,
// the second worker has written for the same task, and for a later one.
func TestW3AWriteThatComesAfterItsLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	onItsWay, arrives := make(chan struct{}), make(chan struct{})
	first := s.startWorker(briefly, func(h *hands, _ *Options) {
		h.late = true
		h.before = func(call string) bool {
			if call == "k8s apply" {
				close(onItsWay)
				<-arrives
			}
			return false
		}
	})
	task := s.create(shopSpec("2.4.0"))
	<-onItsWay
	first.serverAway(true)
	s.startWorker()
	s.wantResult(task, "SUCCEEDED", "")
	s.wantResult(s.change(`scaleDeployment(id: $d, replicas: [{component: "server", replicas: 7}])`), "SUCCEEDED", "")
	written := s.object()

	close(arrives)
	s.eventually("the late write has been answered", func() error {
		if len(first.applies()) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	first.serverAway(false)
	s.wantRuns(first, task, false)
	if applies := first.applies(); len(applies) != 1 || !strings.Contains(applies[0], "the object has been modified") {
		t.Errorf("the first worker applied %q, want one that was refused as a conflict", applies)
	}
	if now := s.object(); now.ResourceVersion != written.ResourceVersion {
		t.Errorf("it was written to: replicas are %d, want 7", now.Spec.Components[0].Replicas)
	}
}

// TestW2TwoWorkersShareTheTasks: no task is run twice, since no lease runs out.
func TestW2TwoWorkersShareTheTasks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	forLong := func(_ *hands, o *Options) { o.Lease = time.Hour }
	workers := []*hands{s.startWorker(forLong), s.startWorker(forLong)}
	tasks := make([]string, 0, 6)
	for i := range 6 {
		task, _ := s.createNamed(fmt.Sprintf("shop-%d", i), shopSpec("2.4.0"))
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		s.wantResult(task, "SUCCEEDED", "")
	}
	if applies := slices.Concat(workers[0].applies(), workers[1].applies()); len(applies) != len(tasks) {
		t.Errorf("%d objects were written by %q", len(tasks), applies)
	}
}
