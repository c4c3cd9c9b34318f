// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// disturbance kills the manager and the server, and starts both again, when all its
// participants are in the middle of their changes.
type disturbance struct {
	arrived, acted sync.WaitGroup
	managerIsDead  chan struct{}
	serverIsBack   chan struct{}

	mu sync.Mutex
	// left is how many participants are still to arrive.
	left  int
	waits []*command
}

// participant is one of the changes that are disturbed. Nil: it is not.
type participant struct {
	disturbance   *disturbance
	arrive, leave func()
}

// together runs tests at the same time, however many processors there are: they
// mostly wait. They are participants of the disturbance, if there is one.
func together(t *testing.T, d *disturbance, tests map[string]func(*testing.T, *participant)) {
	t.Helper()
	var running sync.WaitGroup
	if d != nil {
		d.managerIsDead, d.serverIsBack = make(chan struct{}), make(chan struct{})
	}
	participants := map[string]*participant{}
	for name := range tests {
		participants[name] = d.participant()
	}
	for name, test := range tests {
		p := participants[name]
		running.Go(func() {
			t.Run(name, func(t *testing.T) { test(t, p) })
			p.quit()
		})
	}
	if d != nil {
		if err := d.happen(t); err != nil {
			t.Error(err)
		}
	}
	running.Wait()
}

// participant returns one more.
func (d *disturbance) participant() *participant {
	if d == nil {
		return nil
	}
	d.arrived.Add(1)
	d.acted.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left++
	return &participant{d, sync.OnceFunc(d.arrive), sync.OnceFunc(d.acted.Done)}
}

func (d *disturbance) arrive() {
	d.mu.Lock()
	d.left--
	d.mu.Unlock()
	d.arrived.Done()
}

// awaitOthers waits until all but the last of the others are there: for participants
// whose middle is short, one after the other.
func (p *participant) awaitOthers(t *testing.T, last int) {
	t.Helper()
	eventually(t, longestRun, "the others are in the middle of their changes", func(context.Context) error {
		p.disturbance.mu.Lock()
		defer p.disturbance.mu.Unlock()
		if left := p.disturbance.left - 1; left > last {
			return fmt.Errorf("%d are still to come", left)
		}
		return nil
	})
}

// isThere says that the participant is in the middle of its change, for which a
// command waits, and returns when the manager is dead.
func (p *participant) isThere(wait *command) {
	if p == nil {
		return
	}
	d := p.disturbance
	d.mu.Lock()
	d.waits = append(d.waits, wait)
	d.mu.Unlock()
	p.arrive()
	<-d.managerIsDead
}

// goesOn says that the participant has done what it wants to while the manager is
// dead, and returns when the server is back and the manager starts. Until then
// nobody may ask the server for anything.
func (p *participant) goesOn() {
	if p == nil {
		return
	}
	p.leave()
	<-p.disturbance.serverIsBack
}

// quit keeps the others from waiting for the participant.
func (p *participant) quit() {
	if p != nil {
		p.arrive()
		p.leave()
	}
}

// happen is the disturbance itself.
func (d *disturbance) happen(t *testing.T) error {
	t.Helper()
	d.arrived.Wait()
	sys.ManagerProcess().Kill()
	close(d.managerIsDead)
	d.acted.Wait()
	err := d.restartServer(t)
	close(d.serverIsBack)
	return errors.Join(err, sys.StartManager(t.Context()))
}

// restartServer kills the server, and starts it again once every wait has noticed.
func (d *disturbance) restartServer(t *testing.T) error {
	t.Helper()
	sys.ServerProcess().Kill()
	away := startCtl(t, "deployments", "list")
	noticed := d.noticed(t.Context())
	<-away.done
	if away.code != exitUnavailable {
		noticed = errors.Join(noticed, fmt.Errorf("%s ended with %d while the server was away, want %d", away, away.code, exitUnavailable))
	}
	return errors.Join(noticed, sys.StartServer(t.Context()))
}

// noticed waits until all waits have told that they try again.
func (d *disturbance) noticed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		silent := d.silent()
		if len(silent) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server is away, and it was not noticed by %v", silent)
		case <-ticker.C:
		}
	}
}

// silent are the waits that have not told yet that they try again.
func (d *disturbance) silent() (silent []*command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, wait := range d.waits {
		if !strings.Contains(wait.err.String(), "trying again: ") {
			silent = append(silent, wait)
		}
	}
	return silent
}
