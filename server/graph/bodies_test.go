// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

const mebibyte = 1 << 20

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
	a.handler = newHandler(a.resolver, Options{}, newBodies(4*mebibyte, time.Millisecond))
	slow := newHanging(maxBody + 3*mebibyte)
	ended := make(chan answer)
	go func() { ended <- a.send(server.RoleAgent, slow, nil) }()
	<-slow.arrived

	refused := a.send(server.RoleAgent, padded(maxBody+2*mebibyte), nil)
	a.wantRefused(refused, server.CodeInternal, http.StatusServiceUnavailable)
	a.want("when to try again", "5", refused.header.Get("Retry-After"))
	a.want("a smaller one beside it", http.StatusOK, a.send(server.RoleAgent, padded(maxBody+mebibyte/2), nil).status)
	a.want("a small one beside it", http.StatusOK, a.send(server.RoleAdmin, padded(maxBody/2), nil).status)
	slow.end()
	a.want("the one that was slow", http.StatusOK, (<-ended).status)
	a.want("the refused one again", http.StatusOK, a.send(server.RoleAgent, padded(maxBody+2*mebibyte), nil).status)
}

func TestR15ALargeBodyWaitsForRoom(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	a.handler = newHandler(a.resolver, Options{}, newBodies(4*mebibyte, time.Minute))
	first, second := newHanging(maxBody+3*mebibyte), newHanging(maxBody+mebibyte)
	ended := make(chan answer)
	for _, body := range []*hanging{first, second} {
		go func() { ended <- a.send(server.RoleAgent, body, nil) }()
		<-body.arrived
	}
	// Both have room so far; what the second one holds besides has none.
	go func() { ended <- a.send(server.RoleAgent, padded(maxBody+mebibyte), nil) }()
	first.end()
	second.end()
	for range 3 {
		a.want("a request that waited", http.StatusOK, (<-ended).status)
	}
}
