// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

const (
	mebibyte = 1 << 20
	// refusedAfter is what a refusal for want of room costs a test, and what a request
	// that finds room has for it on a busy machine.
	refusedAfter = time.Second
)

// padded is a good request of so many bytes and a little more.
func padded(bytes int64) io.Reader {
	return io.MultiReader(io.LimitReader(zeros{}, bytes), strings.NewReader(`{"query": "{ server { version } }"}`))
}

// hanging is a body of so many bytes whose sender then waits.
type hanging struct {
	*io.PipeReader
	// arrived is closed once the server has read so much and wants more.
	arrived chan struct{}
	// end lets the rest of the request come.
	end func()
}

func newHanging(bytes int64) *hanging {
	reader, writer := io.Pipe()
	h := &hanging{PipeReader: reader, arrived: make(chan struct{})}
	rest := make(chan struct{})
	h.end = func() { close(rest) }
	go func() {
		_, _ = io.Copy(writer, io.LimitReader(zeros{}, bytes)) // a reader that gave up fails the test itself
		close(h.arrived)
		<-rest
		_, err := io.Copy(writer, padded(0))
		_ = writer.CloseWithError(err)
	}()
	return h
}

// TestR15LargeBodiesShareTheRoom: what does not fit beside another large request is
// refused for now, and small requests do not notice.
func TestR15LargeBodiesShareTheRoom(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	a.handler = newHandler(a.resolver, Options{}, newBodies(refusedAfter))
	slow, large := newHanging(maxBody+mebibyte), func() answer { return a.send(server.RoleAgent, padded(maxBody+mebibyte), nil) }
	ended := make(chan answer)
	go func() {
		got := a.send(server.RoleAgent, slow, nil)
		_ = slow.Close() // one that was refused has arrived as well: the test fails, and does not hang
		ended <- got
	}()
	<-slow.arrived

	refused := large()
	a.wantRefused(refused, server.CodeInternal, http.StatusServiceUnavailable)
	a.want("when to try again", "5", refused.header.Get("Retry-After"))
	a.want("a small one beside it", http.StatusOK, a.send(server.RoleAdmin, padded(maxBody/2), nil).status)
	slow.end()
	a.want("the one that was slow", http.StatusOK, (<-ended).status)
	a.want("the refused one again", http.StatusOK, large().status)
	a.want("and again", http.StatusOK, large().status)
}

func TestR15ALargeBodyWaitsForRoom(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	a.handler = newHandler(a.resolver, Options{}, newBodies(time.Minute))
	slow := newHanging(maxBody + mebibyte)
	ended := make(chan answer)
	go func() { ended <- a.send(server.RoleAgent, slow, nil) }()
	<-slow.arrived
	for range 3 {
		go func() { ended <- a.send(server.RoleAgent, padded(maxBody+mebibyte), nil) }()
	}
	slow.end()
	for range 4 {
		a.want("a request that waited", http.StatusOK, (<-ended).status)
	}
}

// TestR15WhatIsReadTakesOnlyWhatItNeeds, so that others can be read while it is
// answered.
func TestR15WhatIsReadTakesOnlyWhatItNeeds(t *testing.T) {
	shared := newBodies(refusedAfter)
	first, second := share{bodies: shared}, share{bodies: shared}
	if err := first.take(t.Context(), maxReportBody); err != nil {
		t.Fatal(err)
	}
	first.settle(maxBody + mebibyte)
	if first.held != mebibyte {
		t.Errorf("it holds %d bytes, want %d", first.held, mebibyte)
	}
	if err := second.take(t.Context(), maxReportBody); err != nil {
		t.Errorf("beside one that is read: %v", err)
	}
	first.settle(0)
	if err := first.take(t.Context(), maxReportBody); !errors.Is(err, errBodiesFull) {
		t.Errorf("beside one that is being read: %v, want %v", err, errBodiesFull)
	}
}
