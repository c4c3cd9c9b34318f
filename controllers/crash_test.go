// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// crasher fails every request of an operator after some more, as if the process
// had been killed between two of them.
type crasher struct {
	mu      sync.Mutex
	left    int
	crashed chan struct{}
	// last is when the operator last asked for something.
	last time.Time
}

// idleTime is how long an operator that has begun asks for nothing when it has
// nothing to do: more than it lets pass between two looks. One that has not begun
// after startTime never will.
const (
	idleTime  = 500 * time.Millisecond
	startTime = 3 * time.Second
)

// after arms the crasher.
func (c *crasher) after(requests int) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.crashed, c.last = requests, make(chan struct{}), time.Now().Add(startTime-idleTime)
	return c.crashed
}

func (c *crasher) before(r request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.isWrite() && (r.verb != "get" || strings.HasPrefix(r.resource, "/")) {
		return nil // Watches and discovery go on: without them nothing begins.
	}
	c.last = time.Now()
	c.left--
	if c.left > 0 {
		return nil
	}
	if c.left == 0 {
		close(c.crashed)
	}
	return errText("crashed")
}

// wait waits until the operator has crashed, or has done all that it can do.
func (c *crasher) wait(crashed <-chan struct{}) {
	ticker := time.NewTicker(idleTime / 10)
	defer ticker.Stop()
	for {
		select {
		case <-crashed:
			return
		case <-ticker.C:
		}
		c.mu.Lock()
		idle := time.Since(c.last)
		c.mu.Unlock()
		if idle > idleTime {
			return
		}
	}
}

// TestO6CrashesAtAnyTime kills the operator thirty times while ten deployments
// are created, upgraded and deleted. They end right, with nothing orphaned.
func TestO6CrashesAtAnyTime(t *testing.T) {
	const deployments, crashes = 10, 30
	sim := simulate(t, apiServer)
	c := newClient(t, apiServer)
	random := rand.New(rand.NewPCG(1, 2)) // A test that can be repeated.
	crash := &crasher{}
	run := func(requests int) {
		w := &wire{before: crash.before}
		crashed := crash.after(requests)
		o := startOperator(t, w.tapped(apiServer), fast(), nil)
		crash.wait(crashed)
		o.stop(t)
	}
	fixtures := make([]*fixture, deployments)
	for i := range fixtures {
		f, d := newFixture(t, c, fmt.Sprintf("shop-%d", i))
		fixtures[i] = f
		f.create(d)
	}
	for i := range crashes {
		switch i {
		case crashes / 3:
			for _, f := range fixtures {
				f.roll("i-2", func(s *styrminv1.StyrminDeploymentSpec) { s.Components[0].Replicas = 1 })
			}
		case 2 * crashes / 3:
			for _, f := range fixtures[:deployments/2] {
				f.delete()
			}
		}
		run(1 + random.IntN(80))
	}
	startOperator(t, apiServer, fast(), nil)
	for _, f := range fixtures[:deployments/2] {
		f.waitGone()
		if left := f.made(); len(left) > 0 || f.exists(&corev1.Namespace{}, "", f.target) {
			t.Errorf("%s left %v, or its namespace", f.key, left)
		}
	}
	for _, f := range fixtures[deployments/2:] {
		d := f.waitFor("i-2", styrminv1.PhaseReady, styrminv1.DisplayStateRunning)
		if got := d.Status.Components[0].Ready; got != 1 {
			t.Errorf("%s has %d ready pods, want 1", f.key, got)
		}
		f.delete()
	}
	for _, f := range fixtures {
		f.waitGone()
		if sim.is(sim.installed, f.target) && !sim.is(sim.uninstalled, f.target) {
			t.Errorf("the release of %s was not uninstalled", f.key)
		}
	}
}
