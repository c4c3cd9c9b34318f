// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func TestP7EqualTextsAreKeptOnce(t *testing.T) {
	var i interner[string]
	intern := func(s string) string { return i.get(s, func() string { return s }) }
	first := intern(strings.Clone("node-1"))
	same := func(s string) bool { return unsafe.StringData(intern(strings.Clone(s))) == unsafe.StringData(first) }
	if !same("node-1") {
		t.Error("An equal text is a second copy")
	}
	for n := range internerSize {
		intern(strconv.Itoa(n))
	}
	if !same("node-1") {
		t.Error("A text of the generation before is a second copy")
	}
	for n := range 3 * internerSize {
		intern(strconv.Itoa(n))
	}
	if size := len(i.recent) + len(i.past); size > 2*internerSize {
		t.Errorf("It holds %d texts", size)
	}
	if same("node-1") {
		t.Error("It never forgets")
	}
}
