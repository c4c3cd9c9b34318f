// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestR10W2ALaterTaskSupersedesOneThatTheOperatorIsAt: the flow of the earlier has
// done its part; that of the later one writes, and both are run to their ends.
func TestR10W2ALaterTaskSupersedesOneThatTheOperatorIsAt(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.startWorker()
	s.operator(func() { s.operatorHolds = true })
	created := s.create(shopSpec("2.4.0"))
	s.eventually("the operator is at what was written", func() error {
		if step := s.task(created).Steps[1]; step.Status != "RUNNING" {
			return errors.New(step.Status)
		}
		return nil
	})
	scaled := s.change(`scaleDeployment(id: $d, replicas: [{component: "server", replicas: 7}])`)
	view := s.wantResult(created, "SUPERSEDED", "task "+created+" was superseded by a later task of the deployment")
	if view.Status != "SUCCESS" {
		t.Errorf("its flow is %s, want SUCCESS", view.Status)
	}
	s.operator(func() { s.operatorHolds = false })
	s.wantResult(scaled, "SUCCEEDED", "")
	s.wantStatus("RUNNING")
	s.wantRuns(h, created, false)
	s.wantRuns(h, scaled, false)
	if replicas := s.object().Spec.Components[0].Replicas; replicas != 7 {
		t.Errorf("%d replicas, want 7", replicas)
	}
}

// TestW2ALaterTaskWaitsForAFlowThatHasMoreToDo: an upgrade whose post hook is yet to
// come is not superseded, whatever is asked for meanwhile.
func TestW2ALaterTaskWaitsForAFlowThatHasMoreToDo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.startWorker()
	upgrade := s.inTheMiddle()
	written := s.history()
	scaled := s.change(`scaleDeployment(id: $d, replicas: [{component: "server", replicas: 7}])`)
	deleted := s.change("deleteDeployment(id: $d)")
	s.operator(func() { s.operatorHolds = false })
	s.wantResult(upgrade, "SUCCEEDED", "")
	if result := s.result(scaled).Result; result != "SUCCEEDED" && result != "SUPERSEDED" {
		t.Errorf("the scaling is %s", result)
	}
	s.wantResult(deleted, "SUCCEEDED", "")
	want := []string{"2.4.0 running: false", "2.5.0 running: false", "2.5.0 running: true"}
	if got := slices.Compact(written()); cmp.Diff(want, got) != "" {
		t.Errorf("what was written is %v, want %v", got, want)
	}
}

// TestW3AFlowThatIsSupersededBeforeItsWriteWritesNothing: the deployment is deleted
// while its first worker, whose lease has run out, is about to record the write.
func TestW3AFlowThatIsSupersededBeforeItsWriteWritesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	held, goOn := make(chan struct{}), make(chan struct{})
	first := s.startWorker(func(h *hands, o *Options) {
		briefly(h, o)
		h.before = func(call string) bool {
			if call == "RecordSpecWrite" {
				close(held)
				<-goOn
			}
			return false
		}
	})
	task := s.create(shopSpec("2.4.0"))
	<-held
	first.serverAway(true)
	s.eventually("the deletion needs no worker", func() error {
		if s.status() != "DELETED" {
			s.change("deleteDeployment(id: $d)")
		}
		if status := s.status(); status != "DELETED" {
			return fmt.Errorf("it is %s", status)
		}
		return nil
	})
	first.serverAway(false)
	close(goOn)
	s.wantRuns(first, task, false)
	s.wantResult(task, "SUPERSEDED", "was superseded by a later task of the deployment")
	if object := s.object(); object != nil {
		t.Errorf("it was written: %+v", object)
	}
	if applies := first.applies(); len(applies) > 0 {
		t.Errorf("the worker applied %v", applies)
	}
}
