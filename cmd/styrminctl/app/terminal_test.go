// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/styrmin/styrmin/sdk/sdktest"
)

// person sits at a terminal in front of the program.
type person struct {
	terminal, program *os.File
	mu                sync.Mutex
	seen              bytes.Buffer
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{}
	var err error
	if p.terminal, p.program, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(p.terminal, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(p, p.terminal)
	}()
	t.Cleanup(func() {
		_ = p.program.Close()
		_ = p.terminal.Close()
		<-read
	})
	return p
}

func (p *person) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(text)
}

func (p *person) saw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// waitFor waits until the terminal has shown a text.
func (p *person) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(p.saw(), text); {
		if time.Now().After(end) {
			t.Fatalf("The terminal never showed %q:\n%q", text, p.saw())
		}
		<-time.After(5 * time.Millisecond)
	}
}

// startAt starts the program at the person's terminal.
func (m *machine) startAt(p *person, args ...string) *command {
	m.Helper()
	ctx, cancel := context.WithCancel(m.Context())
	c := &command{t: m.T, cancel: cancel, ended: make(chan int, 1)}
	a := &app{
		Environment: Environment{In: p.program, Out: p.program, Err: p.program, LookupEnv: m.lookup},
		interval:    20 * time.Millisecond, clock: time.Now,
	}
	m.Cleanup(cancel)
	go func() { c.ended <- run(ctx, args, a) }()
	return c
}

func TestATerminalShowsTheStepsInOnePlace(t *testing.T) {
	w := newWorld(t)
	w.env["TERM"] = "xterm-256color"
	w.agent.Work(t)
	for name, test := range map[string]struct {
		noColour, version string
		want              int
	}{
		"coloured":   {version: "1", want: ExitOK},
		"colourless": {version: sdktest.BrokenVersion, noColour: "1", want: ExitFailed},
	} {
		w.env["NO_COLOR"] = test.noColour
		p := newPerson(t)
		path := w.file("shop.yaml", shop(name, "prod", test.version))
		if code := w.startAt(p, "deployments", "apply", "-f", path, "--wait").wait(); code != test.want {
			t.Errorf("%s: it ended with %d:\n%q", name, code, p.saw())
		}
		p.waitFor(t, showCursor)
		saw := p.saw()
		w.wantIn(name, saw, hideCursor, "Write the StyrminDeployment", clearBelow)
		if coloured := strings.Contains(saw, "\x1b[32m"); coloured != (test.noColour == "") {
			t.Errorf("%s: colours are %t:\n%q", name, coloured, saw)
		}
	}
}

func TestATerminalThatCannotMoveItsCursorGetsLines(t *testing.T) {
	w := newWorld(t)
	w.env["TERM"] = "dumb"
	w.agent.Work(t)
	p := newPerson(t)
	path := w.file("shop.yaml", shop("shop", "prod", "1"))
	if code := w.startAt(p, "deployments", "apply", "-f", path, "--wait").wait(); code != ExitOK {
		t.Errorf("it ended with %d", code)
	}
	p.waitFor(t, "deployment/shop is RUNNING")
	if strings.Contains(p.saw(), "\x1b") {
		t.Errorf("it moved the cursor: %q", p.saw())
	}
}

func TestDeleteAsksAtATerminal(t *testing.T) {
	w := newWorld(t)
	w.deployed()
	for _, test := range []struct {
		answer string
		want   int
		says   string
	}{
		{"n\n", ExitError, "nothing was changed"},
		{"\n", ExitError, "nothing was changed"},
		{"yes\n", ExitOK, "deployment/shop deleting"},
	} {
		p := newPerson(t)
		deleting := w.startAt(p, "deployments", "delete", "shop")
		p.waitFor(t, "Delete deployment shop in environment prod, with its namespace and data? [y/N]")
		if _, err := io.WriteString(p.terminal, test.answer); err != nil {
			t.Fatal(err)
		}
		if code := deleting.wait(); code != test.want {
			t.Errorf("after %q it ended with %d", test.answer, code)
		}
		p.waitFor(t, test.says)
	}
}
