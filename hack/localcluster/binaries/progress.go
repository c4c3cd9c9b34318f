// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// Intervals between signs of life of a long step: a terminal's line is rewritten, elsewhere a whole line is written.
const (
	terminalTick = time.Second
	plainTick    = 30 * time.Second
)

// step is one line that tells what a person waits for, and for how long already.
type step struct {
	out      io.Writer
	title    string
	terminal bool
	started  time.Time
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// startStep writes the step's line and keeps its elapsed time current until end is called.
func startStep(out io.Writer, title string) *step {
	s := &step{out: out, title: title, terminal: isTerminal(out), started: time.Now(), stop: make(chan struct{})}
	interval := plainTick
	if s.terminal {
		interval = terminalTick
		_, _ = fmt.Fprintf(out, "%s…", title)
	} else {
		_, _ = fmt.Fprintf(out, "%s…\n", title)
	}
	s.stopped.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
				s.tick()
			}
		}
	})
	return s
}

func (s *step) tick() {
	if s.terminal {
		_, _ = fmt.Fprintf(s.out, "\r%s… %s", s.title, s.elapsed())
		return
	}
	_, _ = fmt.Fprintf(s.out, "%s… still busy after %s\n", s.title, s.elapsed())
}

// end writes how the step ended.
func (s *step) end(err error) {
	close(s.stop)
	s.stopped.Wait()
	outcome := "done in"
	if err != nil {
		outcome = "failed after"
	}
	if s.terminal {
		_, _ = fmt.Fprint(s.out, "\r")
	}
	_, _ = fmt.Fprintf(s.out, "%s… %s %s\n", s.title, outcome, s.elapsed())
}

func (s *step) elapsed() time.Duration {
	return time.Since(s.started).Round(time.Second)
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) // #nosec G115 -- a file descriptor fits.
}
