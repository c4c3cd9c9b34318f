// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs child processes that never outlive the program that started them.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Name is what a person calls the process.
	Name string
	// Path is the program.
	Path string
	Args []string
	// Env is added to the environment of this program.
	Env []string
	// LogFile gets the process's output, after that of earlier runs.
	LogFile string
}

// Process is a running or ended child.
type Process struct {
	Spec
	command *exec.Cmd
	done    chan struct{}
	err     error
}

// Start starts the process in a process group of its own, so that a terminal's Ctrl-C reaches this program alone and the
// children end in order. On Linux the kernel kills the child when this program dies, even by SIGKILL.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	// No context: a cluster ends its processes in their order, not all at once.
	command := exec.Command(spec.Path, spec.Args...) //nolint:gosec,noctx // The programs of the local cluster, ended by Stop.
	command.Env = append(os.Environ(), spec.Env...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = childAttributes()
	p := &Process{Spec: spec, command: command, done: make(chan struct{})}
	started := make(chan error)
	go p.run(log, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one locked thread: the kernel's parent-death signal is bound to the thread
// that started the child, so that thread must live as long as the child does.
func (p *Process) run(log *os.File, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() { _ = log.Close() }()
	if err := p.command.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.command.Wait()
	close(p.done)
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended tells how the process ended and where its log is. It must be called only after Done is closed.
func (p *Process) Ended() error {
	outcome := "exit status 0"
	if p.err != nil {
		outcome = p.err.Error()
	}
	return fmt.Errorf("%s ended unexpectedly (%s), see its log: %s", p.Name, outcome, p.LogFile)
}

// PID is the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Stop asks the process's group to end and kills it when the grace has passed. It returns when the process is gone.
func (p *Process) Stop(grace time.Duration) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := terminate(p.PID()); err != nil {
		return fmt.Errorf("stop %s: %w", p.Name, err)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	err := kill(p.PID())
	<-p.done
	return errors.Join(fmt.Errorf("%s did not end within %s and was killed", p.Name, grace), err)
}
