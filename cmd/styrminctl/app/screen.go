// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/styrmin/styrmin/sdk"
)

// snapshot is what one look at a change found.
type snapshot struct {
	sdk.Progress
	// pods are those that are not healthy while the operator works.
	pods []sdk.Pod
}

// view shows a change while it goes on.
type view interface {
	// update shows what a look has found.
	update(snapshot)
	// tick lets time go by on the screen.
	tick()
	// close shows the last state for good.
	close()
}

// screen draws the steps on a terminal, over and over in the same place.
type screen struct {
	out    io.Writer
	size   func() (width, height int)
	now    func() time.Time
	colour palette
	// name is the deployment's.
	name string

	last  snapshot
	frame int
	// drawn is how many lines stand there now.
	drawn int
	begun bool
}

// frames turn while a step runs.
var frames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearLine  = "\x1b[K"
	clearBelow = "\x1b[J"
)

func (s *screen) update(found snapshot) {
	s.last = found
	s.draw(frames[s.frame])
}

func (s *screen) tick() {
	s.frame = (s.frame + 1) % len(frames)
	if s.begun {
		s.draw(frames[s.frame])
	}
}

func (s *screen) close() {
	if !s.begun {
		return
	}
	s.draw("")
	_, _ = io.WriteString(s.out, showCursor)
}

// draw puts the lines over those that stand there. What does not fit is left
// out from the top: a line that has scrolled away cannot be drawn over.
func (s *screen) draw(frame string) {
	width, height := s.size()
	// In the last column a cursor stands on what was written there, and clearing the
	// rest of the line would clear that.
	lines := s.lines(frame, max(1, width-1))
	if fits := height - 1; len(lines) > fits {
		lines = lines[len(lines)-max(fits, 0):]
	}
	var text strings.Builder
	if !s.begun {
		text.WriteString(hideCursor)
		s.begun = true
	}
	if s.drawn > 0 {
		fmt.Fprintf(&text, "\x1b[%dA", s.drawn)
	}
	for _, line := range lines {
		text.WriteString("\r" + line + clearLine + "\n")
	}
	text.WriteString(clearBelow)
	s.drawn = len(lines)
	_, _ = io.WriteString(s.out, text.String())
}

func (s *screen) lines(frame string, width int) []string {
	var lines []string
	if task := s.last.Task; task != nil {
		heading := fmt.Sprintf("deployment/%s: %s", s.name, describeKind(task.Kind))
		if deployment := s.last.Deployment; deployment != nil {
			heading += ", " + string(deployment.Status)
		}
		lines = append(lines, cut(heading, width))
		lines = append(lines, tree{palette: s.colour, now: s.now(), width: width, frame: frame}.lines(task, s.last.pods)...)
	}
	if s.last.Err != nil {
		lines = append(lines, s.colour.yellow(cut("Trying again: "+oneLine(s.last.Err.Error()), width)))
	}
	return lines
}

// describeKind says what a task does.
func describeKind(kind sdk.TaskKind) string {
	return strings.ReplaceAll(strings.ToLower(string(kind)), "_", " ")
}
