// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/styrmin/styrmin/hack/localcluster/process"
)

// stopGrace bounds how long one tier of processes has to end before it is killed. Three tiers stay within 10 seconds.
const stopGrace = 3 * time.Second

// supervisor runs the processes of a cluster in tiers: a later tier depends on the earlier ones and is stopped first.
type supervisor struct {
	// fail ends the whole cluster with the reason.
	fail     context.CancelCauseFunc
	tiers    [][]*process.Process
	stopping chan struct{}
	watchers sync.WaitGroup
}

func newSupervisor(fail context.CancelCauseFunc) *supervisor {
	return &supervisor{fail: fail, stopping: make(chan struct{})}
}

// startTier starts processes that are stopped together. The end of one of them before stop ends the cluster.
func (s *supervisor) startTier(specs ...process.Spec) error {
	s.tiers = append(s.tiers, nil)
	tier := &s.tiers[len(s.tiers)-1]
	for _, spec := range specs {
		started, err := process.Start(spec)
		if err != nil {
			return err
		}
		*tier = append(*tier, started)
		s.watchers.Go(func() {
			select {
			case <-s.stopping:
			case <-started.Done():
				s.fail(started.Ended())
			}
		})
	}
	return nil
}

// stop ends all processes, the last started tier first.
func (s *supervisor) stop() error {
	close(s.stopping)
	s.watchers.Wait()
	var all []error
	for _, tier := range slices.Backward(s.tiers) {
		errs := make([]error, len(tier))
		var stops sync.WaitGroup
		for i, child := range tier {
			stops.Go(func() { errs[i] = child.Stop(stopGrace) })
		}
		stops.Wait()
		all = append(all, errs...)
	}
	return errors.Join(all...)
}
