// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/styrmin/styrmin/sdk/sdktest"
)

func TestMain(m *testing.M) { os.Exit(sdktest.Main(m)) }

// clock is a clock that moves when someone sleeps.
type clock struct {
	time  time.Time
	slept []time.Duration
}

func (c *clock) now() time.Time { return c.time }

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.slept = append(c.slept, d)
	c.time = c.time.Add(d)
	return ctx.Err()
}

// request is an operation as it came over HTTP.
type request struct {
	OperationName string
	Variables     map[string]any
	header        http.Header
}

// answers is an HTTP layer that answers operations as a test says.
type answers func(request) (status int, body string, err error)

var errConnectionReset = errors.New("connection reset by peer")

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	operation := request{header: r.Header}
	if err := json.Unmarshal(body, &operation); err != nil {
		return nil, err
	}
	status, text, err := a(operation)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"text/test"}},
		Body: io.NopCloser(bytes.NewReader([]byte(text))),
	}, nil
}

// fakeClient is a client of an HTTP layer that the test plays, by the test's clock.
func fakeClient(t *testing.T, layer answers, options ...Option) (*Client, *clock) {
	t.Helper()
	options = append(options, WithHTTPClient(&http.Client{Transport: layer}))
	client, err := New("https://styrmin.example", options...)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	client.now, client.sleep = c.now, c.sleep
	return client, c
}

// realClient is a client of a real server that does not wait long between looks.
func realClient(t *testing.T, s *sdktest.Server) *Client {
	t.Helper()
	client, err := New(s.URL, WithToken(s.AdminToken))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// data is the answer of an operation that worked.
func data(t *testing.T, fields map[string]any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"data": fields})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
