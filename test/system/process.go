// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to end after SIGTERM before it is
// killed.
const stopTimeout = time.Minute

// Process is a program that runs beside this one. It is ended with this one,
// however that ends.
type Process struct {
	name string
	log  string
	// logStart is how long the log was already, with what earlier ones wrote.
	logStart int64
	cmd      *exec.Cmd
	done     chan struct{}
	err      error
}

// startProcess starts a program whose standard error, and standard output
// unless stdout takes it, go to a log file in dir.
func startProcess(name, dir string, stdout, stderr io.Writer, program string, args ...string) (*Process, error) {
	path := filepath.Join(dir, name+".log")
	log, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	before, err := log.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the log of %s: %w", name, err), log.Close())
	}
	// The caller says when the process ends (Stop, Kill), not a context.
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // The programs are ours; see above.
	cmd.Stdout, cmd.Stderr = tee(log, stdout), tee(log, stderr)
	// A group of its own: a Ctrl-C at the terminal reaches this program alone,
	// which then ends the others in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}

	p := &Process{name: name, log: path, logStart: before.Size(), cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// Linux sends Pdeathsig when the starting thread ends, so it has to last.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		_ = log.Close()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

func tee(log, also io.Writer) io.Writer {
	if also == nil {
		return log
	}
	return io.MultiWriter(log, also)
}

// output is what the program has written so far.
func (p *Process) output() ([]byte, error) {
	content, err := os.ReadFile(filepath.Clean(p.log))
	if err != nil || int64(len(content)) < p.logStart {
		return nil, err
	}
	return content[p.logStart:], nil
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err tells why a program that nobody stopped has ended, and where its log is.
func (p *Process) Err() error {
	return fmt.Errorf("%s ended by itself (%v); its log is %s", p.name, p.cmd.ProcessState, p.log)
}

// Pid is the program's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stop ends the program with SIGTERM and waits for it. An error means that it
// did not end by itself in time, or not cleanly.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.name, err)
	}
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		p.Kill()
		return fmt.Errorf("stopping %s: still running %s after SIGTERM, killed; its log is %s", p.name, stopTimeout, p.log)
	}
	if p.err != nil {
		return fmt.Errorf("stopping %s: it ended with %w; its log is %s", p.name, p.err, p.log)
	}
	return nil
}

// Kill ends the program with SIGKILL, as a crash would, and waits for it.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// waitUntil calls ready until it returns nil. It gives up when ctx ends or the
// program does, with the last error that ready returned.
func (p *Process) waitUntil(ctx context.Context, ready func(context.Context) error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (its log is %s)", p.name, err, p.log)
		case <-p.done:
			return p.Err()
		case <-ticker.C:
		}
	}
}
