// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"reflect"

	"github.com/uptrace/bun/schema"
)

// pairs is a list of two columns' values for the right side of IN, in the form
// that both databases read and answer from an index.
type pairs [][2]string

// AppendQuery writes VALUES ('a', 'b'), ('c', 'd').
func (p pairs) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	b = append(b, "VALUES "...)
	for i, pair := range p {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '(')
		b = gen.AppendValue(b, reflect.ValueOf(pair[0]))
		b = append(b, ", "...)
		b = gen.AppendValue(b, reflect.ValueOf(pair[1]))
		b = append(b, ')')
	}
	return b, nil
}

// equal compares values that may be absent.
func equal[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
