// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// proxy is a TCP proxy between an agent and an API server.
type proxy struct {
	listener net.Listener
	backend  string

	mu sync.Mutex
	// freezes makes new connections frozen from the start.
	freezes bool
	conns   map[*proxied]struct{}
	group   sync.WaitGroup
}

// proxied is a connection that passes the proxy. While it is frozen, what is
// sent on it goes nowhere, and nobody is told.
type proxied struct {
	client, server net.Conn
	mu             sync.Mutex
	thawed         *sync.Cond
	frozen, closed bool
}

// newProxy puts a proxy before the API server of config, and returns it with a
// configuration that goes through it.
func newProxy(t *testing.T, config *rest.Config) (*proxy, *rest.Config) {
	t.Helper()
	backend, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	host := backend.Host
	if host == "" {
		host = config.Host
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, backend: host, conns: map[*proxied]struct{}{}}
	p.group.Go(func() { p.serve(t) })
	t.Cleanup(func() {
		_ = listener.Close()
		p.drop()
		p.group.Wait()
	})
	through := rest.CopyConfig(config)
	through.Host = "https://" + listener.Addr().String()
	return p, through
}

func (p *proxy) serve(t *testing.T) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		freezes := p.freezes
		p.mu.Unlock()
		server, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.backend)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.pass(&proxied{client: client, server: server, frozen: freezes})
	}
}

func (p *proxy) pass(conn *proxied) {
	conn.thawed = sync.NewCond(&conn.mu)
	p.mu.Lock()
	p.conns[conn] = struct{}{}
	p.mu.Unlock()
	p.group.Go(func() { conn.copy(conn.server, conn.client) })
	p.group.Go(func() {
		conn.copy(conn.client, conn.server)
		p.mu.Lock()
		delete(p.conns, conn)
		p.mu.Unlock()
	})
}

func (c *proxied) copy(to, from net.Conn) {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		c.mu.Lock()
		for c.frozen && !c.closed {
			c.thawed.Wait()
		}
		c.mu.Unlock()
		if _, writeErr := to.Write(buffer[:n]); writeErr != nil || err != nil {
			return
		}
	}
}

func (c *proxied) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.thawed.Broadcast()
	_ = c.client.Close()
	_ = c.server.Close()
}

func (c *proxied) setFrozen(frozen bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = frozen
	c.thawed.Broadcast()
}

// freeze freezes all connections that there are; new ones work.
func (p *proxy) freeze() {
	p.each(func(c *proxied) { c.setFrozen(true) })
}

// partition freezes all connections, new ones too, as a network does that drops
// every packet; and heals it.
func (p *proxy) partition(parted bool) {
	p.mu.Lock()
	p.freezes = parted
	p.mu.Unlock()
	p.each(func(c *proxied) { c.setFrozen(parted) })
}

// drop closes all connections that there are.
func (p *proxy) drop() {
	p.each((*proxied).close)
}

func (p *proxy) each(f func(*proxied)) {
	p.mu.Lock()
	conns := make([]*proxied, 0, len(p.conns))
	for conn := range p.conns {
		conns = append(conns, conn)
	}
	p.mu.Unlock()
	for _, conn := range conns {
		f(conn)
	}
}
