// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/styrmin/styrmin/server"
)

// MarshalText writes a String.
func MarshalText(text string) graphql.Marshaler { return graphql.MarshalString(text) }

// UnmarshalText reads a String as text that every database keeps (R15).
func UnmarshalText(value any) (string, error) {
	text, ok := value.(string)
	if !ok {
		return "", errors.New("is no text")
	}
	return server.CleanText(text, 0), nil
}

// MarshalID writes an ID.
func MarshalID(id string) graphql.Marshaler { return graphql.MarshalString(id) }

// UnmarshalID reads an ID, which may come as a number, as text that every
// database keeps (R15).
func UnmarshalID(value any) (string, error) {
	id, err := graphql.UnmarshalID(value)
	if err != nil {
		return "", errors.New("is no ID")
	}
	return server.CleanText(id, 0), nil
}

// MarshalTime writes RFC 3339 in UTC. The zero time is null, never year 1.
func MarshalTime(t time.Time) graphql.Marshaler { return graphql.MarshalTime(t.UTC()) }

// UnmarshalTime reads RFC 3339 with any offset.
func UnmarshalTime(value any) (time.Time, error) {
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, errors.New("is no time: RFC 3339 is, as 2026-11-29T16:40:05Z")
	}
	return t.UTC(), nil
}

// MarshalLong writes a Long.
func MarshalLong(n int64) graphql.Marshaler { return graphql.MarshalInt64(n) }

// UnmarshalLong reads a whole number of 64 bits.
func UnmarshalLong(value any) (int64, error) {
	n, err := graphql.UnmarshalInt64(value)
	if err != nil {
		return 0, errors.New("is no whole number of 64 bits")
	}
	return n, nil
}

// MarshalJSON writes any JSON value.
func MarshalJSON(value json.RawMessage) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		_, _ = w.Write(value) // the transport tells of a lost connection
	})
}

// UnmarshalJSON reads any JSON value.
func UnmarshalJSON(value any) (json.RawMessage, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	return text, nil
}
