// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is the program styrmin-server: its configuration, what it listens
// on, and how it starts and ends. Tests start it in their own process.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/styrmin/styrmin/server/graph"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/web"
)

// The server ends within 10 s: what runs gets drainTimeout, what is left is cut.
const drainTimeout = 8 * time.Second

// Program is a server that has its database and its addresses, and serves them
// once it runs.
type Program struct {
	options  Options
	log      logr.Logger
	store    *store.Store
	serving  *http.Server
	listener net.Listener
	// certificates reads the certificate again when its files change. Nil: no TLS.
	certificates *certwatcher.CertWatcher
	// metrics and metricsListener are nil where /metrics is not served.
	metrics         *http.Server
	metricsListener net.Listener
}

// New opens the database and listens. What the operator must see once, the first
// admin token, goes to out. Run must follow: it releases both.
func New(ctx context.Context, options Options, log logr.Logger, out io.Writer) (*Program, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	p := &Program{options: options, log: log}
	if err := p.start(ctx, out); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *Program) start(ctx context.Context, out io.Writer) error {
	registry := newRegistry()
	var err error
	p.store, err = store.Open(ctx, p.options.Database, store.Options{Observe: observeDatabase(registry)})
	if err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	if err := ensureAdminToken(ctx, p.store, p.options.AdminTokenFile, p.log, out); err != nil {
		return err
	}
	registry.MustRegister(&stateCollector{store: p.store, log: p.log})
	var listen net.ListenConfig
	if p.listener, err = listen.Listen(ctx, "tcp", p.options.Listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	handler, err := p.handler(registry)
	if err != nil {
		return err
	}
	p.serving = newHTTPServer(handler)
	if err := p.useTLS(); err != nil {
		return err
	}
	if p.options.MetricsListen == "" {
		return nil
	}
	if p.metricsListener, err = listen.Listen(ctx, "tcp", p.options.MetricsListen); err != nil {
		return fmt.Errorf("--metrics-listen: %w", err)
	}
	p.metrics = newHTTPServer(p.metricsHandler(registry))
	p.metrics.TLSConfig, err = metricsTLS(isLoopback(p.metricsListener), p.serving.TLSConfig)
	return err
}

// Address is where the API is served, as HOST:PORT.
func (p *Program) Address() string { return p.listener.Addr().String() }

// MetricsAddress is where /metrics is served, as HOST:PORT; empty where it is not.
func (p *Program) MetricsAddress() string {
	if p.metricsListener == nil {
		return ""
	}
	return p.metricsListener.Addr().String()
}

// Run serves until the context ends, lets what runs come to its end, and closes
// the database. It returns nil for a clean end.
func (p *Program) Run(ctx context.Context) error {
	p.announce()
	ended := make(chan error, 3)
	go func() { ended <- serve(p.serving, p.listener) }()
	if p.certificates != nil {
		go func() {
			if err := p.certificates.Start(ctx); err != nil {
				ended <- err
			}
		}()
	}
	if p.metrics != nil {
		go func() { ended <- serve(p.metrics, p.metricsListener) }()
	}
	stopPruning := p.startPruning(ctx)
	var failed error
	select {
	case <-ctx.Done():
		p.log.Info("Ending")
	case failed = <-ended:
		failed = fmt.Errorf("serving: %w", failed)
	}
	stopPruning()
	//nolint:contextcheck // The context that ended the program cannot wait for its requests.
	return errors.Join(failed, p.drain(), p.close())
}

// startPruning keeps what is old from growing, until the returned function is
// called.
func (p *Program) startPruning(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ticker := time.NewTicker(pruneInterval)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		keepPruned(ctx, p.store, p.log, ticker.C)
	}()
	return func() {
		cancel()
		ticker.Stop()
		<-ended
	}
}

func serve(serving *http.Server, listener net.Listener) error {
	if serving.TLSConfig != nil {
		return serving.ServeTLS(listener, "", "") // The certificate is in the configuration.
	}
	return serving.Serve(listener)
}

// useTLS prepares serving with the certificate of the files, whatever it is at
// the time of a connection.
func (p *Program) useTLS() error {
	if p.options.TLSCertFile == "" {
		return nil
	}
	var err error
	if p.certificates, err = certwatcher.New(p.options.TLSCertFile, p.options.TLSKeyFile); err != nil {
		return fmt.Errorf("--tls-cert-file, --tls-key-file: %w", err)
	}
	p.serving.TLSConfig = &tls.Config{GetCertificate: p.certificates.GetCertificate, MinVersion: tls.VersionTLS12}
	return nil
}

func (p *Program) announce() {
	p.log.Info("Serving", "address", p.Address(), "metrics", p.MetricsAddress(),
		"version", p.options.Version, "tls", p.options.TLSCertFile != "")
	if p.options.AllowAnonymousReports {
		p.log.Info("WARNING: --allow-anonymous-reports is set: anyone who reaches this address can report a " +
			"cluster and change the state of its deployments")
	}
	if !isLoopback(p.listener) && p.options.TLSCertFile == "" {
		p.log.Info("WARNING: tokens travel unencrypted: set --tls-cert-file and --tls-key-file, " +
			"or let a proxy in front of this address speak TLS")
	}
}

// isLoopback tells whether only this machine can reach the listener.
func isLoopback(listener net.Listener) bool {
	address, ok := listener.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// drain waits for the requests that run, then cuts the connections that are left.
func (p *Program) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	var failed error
	for _, serving := range []*http.Server{p.serving, p.metrics} {
		if serving == nil {
			continue
		}
		if err := serving.Shutdown(ctx); err != nil {
			failed = errors.Join(failed, fmt.Errorf("cutting requests that did not end: %w", err), serving.Close())
		}
	}
	return failed
}

// close releases what start took; closing a listener again does no harm.
func (p *Program) close() error {
	for _, listener := range []net.Listener{p.listener, p.metricsListener} {
		if listener != nil {
			_ = listener.Close()
		}
	}
	if p.store == nil {
		return nil
	}
	return p.store.Close()
}

func (p *Program) handler(registry prometheus.Registerer) (http.Handler, error) {
	page, err := web.NewHandler(web.Options{
		Store: p.store, ReportTimeout: p.options.ReportTimeout, Now: time.Now, Log: p.log, Version: p.options.Version,
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the page: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/graphql", graph.NewHandler(&graph.Resolver{
		Store:          p.store,
		Version:        p.options.Version,
		ReportInterval: p.options.ReportInterval,
		ReportTimeout:  p.options.ReportTimeout,
		Now:            time.Now,
		Log:            p.log,
		Metrics:        graph.NewMetrics(registry),
	}, graph.Options{AllowAnonymousReports: p.options.AllowAnonymousReports}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", p.ready)
	mux.Handle("/", page)
	return mux, nil
}

// readyTimeout bounds how long a probe waits for the database.
const readyTimeout = 2 * time.Second

func (p *Program) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := p.store.Ping(ctx); err != nil {
		p.log.Error(err, "Not ready")
		writeLine(w, http.StatusServiceUnavailable, "the database does not answer")
		return
	}
	writeLine(w, http.StatusOK, "ok")
}

func writeLine(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	//nolint:gosec // It is plain text, and no browser may take it for more. A probe that hung up needs no answer.
	_, _ = fmt.Fprintln(w, line)
}
