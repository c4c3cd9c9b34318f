// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"unicode"

	"golang.org/x/text/width"
)

// columns is how many columns of a terminal a character takes.
func columns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0 // It stands on the one before.
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut shortens a text to so many columns.
func cut(text string, length int) string {
	taken, end := 0, 0
	for i, r := range text {
		taken += columns(r)
		if taken > length {
			return text[:end] + "…"
		}
		if taken < length {
			end = i + len(string(r))
		}
	}
	return text
}
