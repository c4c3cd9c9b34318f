// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
)

// newHTTPClient returns a client of the programs. The manager makes its
// certificate itself, so there is none to check it against.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // See above; it is on this machine.
	return &http.Client{Timeout: requestTimeout, Transport: transport}
}

// ServerMetrics are what the server serves to Prometheus.
func (s *System) ServerMetrics(ctx context.Context) (string, error) {
	return s.read(ctx, "http://"+s.serverMetrics+"/metrics")
}

// ScrapeManager asks the manager for its metrics with a bearer token, "" for none,
// and returns the status and the body of its answer.
func (s *System) ScrapeManager(ctx context.Context, token string) (status int, body string, err error) {
	scheme := "http"
	if s.installed != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+s.managerMetrics+"/metrics", http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return s.do(request)
}

func (s *System) get(ctx context.Context, url string) error {
	_, err := s.read(ctx, url)
	return err
}

func (s *System) read(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	status, body, err := s.do(request)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answered %d %s", url, status, http.StatusText(status))
	}
	return body, err
}

func (s *System) do(request *http.Request) (status int, body string, err error) {
	response, err := s.httpClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
