// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"sync"
)

// Output is what a program writes while a test reads it.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes what the program writes.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is all that the program has written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
