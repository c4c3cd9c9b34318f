// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// terminal is a screen that can be drawn anew.
type terminal struct{ file *os.File }

// asTerminal returns the terminal behind a stream, or nil: a file, a pipe, or a
// terminal that cannot move its cursor.
func (a *app) asTerminal(stream any) *terminal {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	if name, _ := a.LookupEnv("TERM"); name == "" || name == "dumb" {
		return nil
	}
	return &terminal{file}
}

// size is the terminal's, or a usual one.
func (t *terminal) size() (width, height int) {
	width, height, err := term.GetSize(int(t.file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// isTerminal tells whether a person sits behind a stream.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// palette colours text. The zero palette does not.
type palette struct{ on bool }

// paletteFor follows https://no-color.org.
func (a *app) paletteFor(stream io.Writer) palette {
	off, _ := a.LookupEnv("NO_COLOR")
	return palette{a.asTerminal(stream) != nil && off == ""}
}

func (p palette) paint(code int, text string) string {
	if !p.on || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, text)
}

func (p palette) red(text string) string    { return p.paint(31, text) }
func (p palette) green(text string) string  { return p.paint(32, text) }
func (p palette) yellow(text string) string { return p.paint(33, text) }
func (p palette) cyan(text string) string   { return p.paint(36, text) }
func (p palette) dim(text string) string    { return p.paint(2, text) }
