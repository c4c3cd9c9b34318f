// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// pollInterval is how often something that is not ready yet is looked at again.
	pollInterval = 50 * time.Millisecond
	// startTimeout bounds the start of one part of the cluster.
	startTimeout = 90 * time.Second
	// probeTimeout bounds one look.
	probeTimeout = 5 * time.Second
)

// await polls until the probe succeeds. Where the context ends first, its cause is the error: that names the process
// that died.
func await(ctx context.Context, what string, probe func(context.Context) error) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		probeCtx, cancel := context.WithTimeout(ctx, probeTimeout)
		err := probe(probeCtx)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline.C:
			return fmt.Errorf("%s within %s: %w", what, startTimeout, err)
		case <-ticker.C:
		}
	}
}

// healthClient trusts the cluster's authority.
func healthClient(caFile string) (*http.Client, error) {
	ca, err := os.ReadFile(caFile) // #nosec G304 -- the cluster's own folder.
	if err != nil {
		return nil, fmt.Errorf("read the cluster's certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s holds no certificate", caFile)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}, nil
}

// healthy returns a probe that succeeds when the URL answers 200.
func healthy(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, response.Body.Close()) }()
		if response.StatusCode != http.StatusOK {
			body, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
			return fmt.Errorf("%s: %s: %s", url, response.Status, body)
		}
		return nil
	}
}
