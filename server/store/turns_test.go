// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestABusyClusterKeepsNoOtherWaiting: more reports of one cluster than the server
// has connections wait for its lock, which another server holds.
func TestABusyClusterKeepsNoOtherWaiting(t *testing.T) {
	const reports = 20
	url, clock := storetest.Postgres(t), storetest.NewClock()
	w := &world{T: t, store: storetest.Open(t, url, clock), clock: clock}
	w.cluster, w.agent = w.newCluster("busy")
	w.session = w.open("kube-busy", "agent-0")
	other, _ := w.newCluster("other")

	elsewhere := storetest.Open(t, url, clock)
	locked, release := make(chan struct{}), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		err := elsewhere.Write(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			err := elsewhere.LockCluster(ctx, tx, w.cluster.ID)
			close(locked)
			<-release
			return err
		})
		if err != nil {
			t.Errorf("holding the lock: %v", err)
		}
	})
	<-locked
	for range reports {
		report := server.PodReport{Header: w.header()}
		ended.Go(func() {
			if _, err := w.store.ApplyPodReport(t.Context(), w.agent, report); err != nil {
				t.Errorf("a report that waited: %v", err)
			}
		})
	}
	w.waitForLine(reports)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, _, err := w.store.RotateAgentToken(ctx, other.ID); err != nil {
		t.Errorf("a call for another cluster: %v", err)
	}
	close(release)
	ended.Wait()
	w.want("who waits after that", 0, w.store.Waiting(w.cluster.ID))
}

// waitForLine waits until so many wait for the cluster, or have their turn.
func (w *world) waitForLine(length int) {
	w.Helper()
	for deadline := time.Now().Add(20 * time.Second); w.store.Waiting(w.cluster.ID) < length; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%d wait, want %d", w.store.Waiting(w.cluster.ID), length)
		}
	}
}

func TestWhoGivesUpLeavesTheLine(t *testing.T) {
	onEach(t, func(w *world) {
		leave := w.store.TakeTurn(w.cluster.ID)
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		ended := make(chan error, 1)
		go func() {
			_, _, err := w.store.RotateAgentToken(ctx, w.cluster.ID)
			ended <- err
		}()
		w.waitForLine(2)
		giveUp()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v, want that it gave up", err)
		}
		w.want("who waits beside the one whose turn it is", 1, w.store.Waiting(w.cluster.ID))
		leave()
		w.want("who waits", 0, w.store.Waiting(w.cluster.ID))
		w.pods()
	})
}

// TestTheWaitInTheLineIsObserved, also where it ends in giving up.
func TestTheWaitInTheLineIsObserved(t *testing.T) {
	type observation struct {
		elapsed time.Duration
		failed  bool
	}
	observations := make(chan observation, 1)
	s, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{
		Observe: func(useCase string, elapsed time.Duration, err error) {
			if useCase == "rotate agent token" {
				observations <- observation{elapsed, err != nil}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	w := &world{T: t, store: s}
	w.cluster, w.agent = w.newCluster("busy")
	other, _ := w.newCluster("other")
	rotate := func(ctx context.Context, clusterID string) error {
		_, _, err := s.RotateAgentToken(ctx, clusterID)
		return err
	}
	for sentence, givesUp := range map[string]bool{"one that gets its turn": false, "one that gives up": true} {
		leave := s.TakeTurn(w.cluster.ID)
		ctx, giveUp := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- rotate(ctx, w.cluster.ID) }()
		w.waitForLine(2)
		var meanwhile time.Duration
		for range 10 {
			w.must(rotate(t.Context(), other.ID))
			meanwhile += (<-observations).elapsed
		}
		if givesUp {
			giveUp()
			w.want(sentence+" fails", true, <-ended != nil)
			leave()
		} else {
			leave()
			w.must(<-ended)
			giveUp()
		}
		select {
		case got := <-observations:
			w.want(sentence+" is observed as failed", givesUp, got.failed)
			if got.elapsed < meanwhile {
				t.Errorf("%s took %s, but ten others took %s while it waited", sentence, got.elapsed, meanwhile)
			}
		default:
			t.Errorf("%s is not observed", sentence)
		}
	}
}
