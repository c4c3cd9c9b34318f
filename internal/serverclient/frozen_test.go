// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package serverclient

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Khan/genqlient/graphql"
)

// frozenConn is a connection that something on the way has forgotten: what is
// written goes nowhere, and nothing comes back.
type frozenConn struct {
	net.Conn
	frozen, closed chan struct{}
	close          func()
}

func (c *frozenConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case <-c.frozen:
		<-c.closed
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (c *frozenConn) Write(b []byte) (int, error) {
	select {
	case <-c.frozen:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

func (c *frozenConn) Close() error {
	c.close()
	return c.Conn.Close()
}

// TestP5AFrozenConnectionIsGivenUp: over HTTP/2 all requests share one connection,
// and one of them that runs out of time does not end it.
func TestP5AFrozenConnectionIsGivenUp(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("it was called by %s", r.Proto)
		}
		_, _ = w.Write([]byte(`{"data": {}}`))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	client, err := New(server.URL, "", authority, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	frozen := make(chan struct{})
	var used atomic.Bool
	transport := client.http.Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil || used.Swap(true) {
			return conn, err
		}
		closed := make(chan struct{})
		return &frozenConn{Conn: conn, frozen: frozen, closed: closed, close: sync.OnceFunc(func() { close(closed) })}, nil
	}
	call := func() error {
		return client.MakeRequest(t.Context(), &graphql.Request{OpName: "Test", Query: "query Test { x }"}, &graphql.Response{})
	}
	// A busy machine may need more than one.
	const patience = 2 * time.Minute
	began := time.Now()
	for err := call(); err != nil; err = call() {
		if time.Since(began) > patience {
			t.Fatal(err)
		}
		used.Store(false)
	}
	close(frozen)
	began = time.Now()
	for err := call(); err != nil; err = call() {
		if time.Since(began) > patience {
			t.Fatalf("the frozen connection is still in use: %v", err)
		}
	}
	if took := time.Since(began); took < time.Second {
		t.Errorf("the connection was not frozen: the next call was answered after %s", took)
	}
}
