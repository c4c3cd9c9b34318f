// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/Khan/genqlient/graphql"
)

// Client calls one Styrmin server. It may be used by several goroutines.
type Client struct {
	// Deployments are what runs, or should.
	Deployments *DeploymentsService
	// Tasks are the changes of deployments.
	Tasks *TasksService
	// Clusters are where deployments run.
	Clusters *ClustersService
	// Tokens let people and scripts call the server.
	Tokens *TokensService

	graphql graphql.Client
	// now and sleep are the clock; tests have their own. sleep returns the
	// context's error when that ends first.
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
}

// Option changes how a Client calls the server.
type Option func(*transport)

// WithToken sends the bearer token with each call.
func WithToken(token string) Option {
	return func(t *transport) { t.token = func() (string, error) { return token, nil } }
}

// WithTokenSource asks for the bearer token before each call, so that one that
// was replaced meanwhile is used at once. An error of the source ends the call, but
// not a wait: once the source has given a token, its errors are ErrNoToken, after
// which WaitForTask looks again.
func WithTokenSource(source func() (string, error)) Option {
	return func(t *transport) { t.token = source }
}

// WithHTTPClient calls through the client, for its proxies, certificates or
// timeouts. Redirects are not followed, whatever it says: a redirected change
// would be sent again as something else, and its token to someone else.
func WithHTTPClient(client *http.Client) Option {
	return func(t *transport) { t.http = client }
}

// WithRootCAs trusts the certificates of these authorities instead of the system's.
func WithRootCAs(roots *x509.CertPool) Option {
	return func(t *transport) { t.http = &http.Client{Transport: newHTTPTransport(roots)} }
}

// New returns a client of the server at the address, as https://styrmin.example.
// It does not call the server yet.
func New(serverAddress string, options ...Option) (*Client, error) {
	base, err := parseAddress(serverAddress)
	if err != nil {
		return nil, fmt.Errorf("the server address %w", err)
	}
	transport := &transport{
		address:  base.String(),
		endpoint: base.JoinPath("graphql").String(),
		token:    func() (string, error) { return "", nil },
		http:     &http.Client{Transport: sharedHTTPTransport},
	}
	for _, option := range options {
		option(transport)
	}
	client := *transport.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport.http = &client
	return newClient(transport), nil
}

func newClient(transport graphql.Client) *Client {
	c := &Client{graphql: transport, now: time.Now, sleep: sleep}
	c.Deployments = &DeploymentsService{c}
	c.Tasks = &TasksService{c}
	c.Clusters = &ClustersService{c}
	c.Tokens = &TokensService{c}
	return c
}

// parseAddress refuses what is no base URL. Its errors do not repeat the
// address, which may hold what its author should not have written there.
func parseAddress(address string) (*url.URL, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("must begin with https:// or http://")
	case base.Host == "":
		return nil, errors.New("has no host")
	case base.User != nil:
		return nil, errors.New("must not hold credentials")
	}
	return base, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Version string `json:"version"`
	// Time is its clock, which all its times are of.
	Time time.Time `json:"time"`
}

// Server asks the server for its version and clock.
func (c *Client) Server(ctx context.Context) (*ServerInfo, error) {
	answer, err := retry(ctx, c, func(ctx context.Context) (*serverInfoResponse, error) {
		return serverInfo(ctx, c.graphql)
	})
	if err != nil {
		return nil, fmt.Errorf("asking the server for its version: %w", err)
	}
	return &answer.Server, nil
}
