// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"time"
)

// moment is a time as the page shows it: how long ago, by the server's clock.
// Only the time itself counts for the digest of a page.
type moment struct {
	At  time.Time
	now time.Time
}

// ISO is the absolute time for programs.
func (m moment) ISO() string { return m.At.UTC().Format(time.RFC3339) }

// Title is the absolute time for people.
func (m moment) Title() string { return m.At.UTC().Format("2006-01-02 15:04:05 UTC") }

// Age is how long ago it was, in the largest unit that fits.
func (m moment) Age() string { return coarse(m.now.Sub(m.At)) }

// Span is how long ago it was, as the length of something that goes on.
func (m moment) Span() string { return fine(m.now.Sub(m.At)) }

// Clock is the time of day.
func (m moment) Clock() string { return m.At.UTC().Format("15:04:05 UTC") }

const day = 24 * time.Hour

// coarse writes an age in one unit. The page's script writes ages in the same
// words.
func coarse(age time.Duration) string {
	switch age = max(age, 0); {
	case age < time.Minute:
		return fmt.Sprintf("%d s", int(age.Seconds()))
	case age < time.Hour:
		return fmt.Sprintf("%d min", int(age.Minutes()))
	case age < 2*day:
		return fmt.Sprintf("%d h", int(age.Hours()))
	}
	return fmt.Sprintf("%d d", int(age/day))
}

// fine writes a length in two units, as does the page's script.
func fine(length time.Duration) string {
	seconds := int(max(length, 0).Seconds())
	switch {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%d h %d min", seconds/3600, seconds%3600/60)
}

// clock makes the moments of one answer.
type clock struct{ now time.Time }

func (c clock) moment(at time.Time) moment { return moment{At: at, now: c.now} }

// optional is nil for what never happened.
func (c clock) optional(at *time.Time) *moment {
	if at == nil {
		return nil
	}
	m := c.moment(*at)
	return &m
}

// olderThan tells whether the time is longer ago than the limit; what never
// happened is not.
func (c clock) olderThan(at *time.Time, limit time.Duration) bool {
	return at != nil && c.now.Sub(*at) > limit
}
