// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is a contender that runs.
type process struct {
	name  string
	cmd   *exec.Cmd
	stats string
}

// startContender starts this program again as a contender.
func startContender(ctx context.Context, name string, flags ...string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append([]string{contenderCommand, "--name", name}, flags...)...) //nolint:gosec // it is this program
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		p.stop()
		return nil, fmt.Errorf("%s ended before it began", name)
	}
	p.stats = lines.Text()
	return p, nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// counters asks the contender what it has done.
func (p *process) counters(ctx context.Context) (counters, error) {
	counted := counters{}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.stats, http.NoBody)
	if err != nil {
		return counted, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return counted, fmt.Errorf("asking %s: %w", p.name, err)
	}
	defer func() { _ = response.Body.Close() }()
	return counted, json.NewDecoder(response.Body).Decode(&counted)
}

// waitCycles waits until the contender has sent n more snapshots.
func (p *process) waitCycles(ctx context.Context, n int) error {
	first, err := p.counters(ctx)
	if err != nil {
		return err
	}
	return poll(ctx, time.Second/2, 5*time.Minute, func() (bool, error) {
		counted, err := p.counters(ctx)
		return counted.Cycles >= first.Cycles+n, err
	})
}

// memory returns a figure of the process's memory, in bytes, as Linux tells it:
// VmRSS is what it has now, VmHWM the most that it ever had.
func (p *process) memory(figure string) (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == figure+":" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", p.name, figure)
}

// measure measures the contenders for a while, all at the same time.
func measure(ctx context.Context, window time.Duration, processes ...*process) ([]result, error) {
	results, errs := make([]result, len(processes)), make([]error, len(processes))
	var group sync.WaitGroup
	for i, p := range processes {
		group.Go(func() { results[i], errs[i] = p.measure(ctx, window) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// measure measures whole cycles: from the end of one to the end of the first after
// the window. Until that cycle, in which it looks for the end, it leaves the contender
// alone: to be asked takes time of its own.
func (p *process) measure(ctx context.Context, window time.Duration) (result, error) {
	r := result{Contender: p.name}
	before, err := p.cycleEnd(ctx)
	if err != nil {
		return r, err
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for began := time.Now(); time.Since(began) < window; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return r, ctx.Err()
		}
		rss, err := p.memory("VmRSS")
		if err != nil {
			return r, err
		}
		r.RSSBytes = max(r.RSSBytes, rss)
	}
	after, err := p.cycleEnd(ctx)
	if err != nil {
		return r, err
	}
	if r.PeakRSSBytes, err = p.memory("VmHWM"); err != nil {
		return r, err
	}
	r.perCycle(before, after)
	return r, nil
}

// cycleEnd waits for the end of a cycle, and returns what the contender has done by
// then.
func (p *process) cycleEnd(ctx context.Context) (counters, error) {
	if err := p.waitCycles(ctx, 1); err != nil {
		return counters{}, err
	}
	return p.counters(ctx)
}

// poll asks again after each pause until something is so.
func poll(ctx context.Context, pause, limit time.Duration, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		done, err := condition()
		if done || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
