// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverclient is the connection of the agent's parts to the server:
// GraphQL over HTTP with the agent's token. Each part has its own operations;
// what makes an answer a good one is the same for all.
package serverclient

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

const (
	// MaxResponse is how much of an answer is read, in bytes.
	MaxResponse = 8 << 20
	// maxMessage is how much of a refusal's message is kept, in bytes.
	maxMessage = 1024
	// connectionDoubt is how long an HTTP/2 connection may tell nothing until it is
	// asked for a sign of life, and how long that may take. One that fails is given
	// up: a request that runs out of time says nothing about its connection, and the
	// next would take the same one.
	connectionDoubt = 5 * time.Second
)

// Client is a graphql.Client for one server. A request ends within the timeout,
// its body is compressed (P7), and whatever is not the whole answer of a GraphQL
// server is an error (P5). Errors never hold the token. Several goroutines may
// use it.
type Client struct {
	endpoint  string
	tokenFile string
	timeout   time.Duration
	http      *http.Client
	// compressors are used again: they are large.
	compressors sync.Pool
	sent        func(operation string, raw, compressed int)
}

// New returns a client of the server at address, a base URL to which
// /graphql is appended. caFile holds certificates to trust instead of the
// system's, "" for those; tokenFile the bearer token, "" for none.
func New(address, tokenFile, caFile string, timeout time.Duration) (*Client, error) {
	endpoint, err := Endpoint(address)
	if err != nil {
		return nil, fmt.Errorf("server address: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: connectionDoubt, PingTimeout: connectionDoubt}
	if caFile != "" {
		roots, err := readCertificates(caFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	c := &Client{
		endpoint:  endpoint,
		tokenFile: tokenFile,
		timeout:   timeout,
		http: &http.Client{
			Transport: transport,
			// A redirected mutation would be sent again as something else, and its
			// token to someone else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		compressors: sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }},
		sent:        func(string, int, int) {},
	}
	if _, err := c.token(); err != nil {
		return nil, err
	}
	return c, nil
}

// Endpoint returns where the server of that address answers GraphQL. Its errors say
// what is wrong with the address, and nothing of what is in it: that may be a password.
func Endpoint(address string) (string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return "", errors.New("is not a URL")
	}
	switch {
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return "", errors.New("must begin with https:// or http://")
	case parsed.Host == "":
		return "", errors.New("has no host")
	case parsed.User != nil:
		return "", errors.New("must not hold credentials")
	}
	return parsed.JoinPath("graphql").String(), nil
}

func readCertificates(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file) //nolint:gosec // the operator of the agent names the file
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return roots, nil
}

// token reads the token anew for each request, so that it can be rotated.
func (c *Client) token() (string, error) {
	if c.tokenFile == "" {
		return "", nil
	}
	content, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("token file: %s is empty", c.tokenFile)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", fmt.Errorf("token file: %s holds more than one token, or something else", c.tokenFile)
	}
	return token, nil
}

// MakeRequest sends the operation and reads the answer into resp.
func (c *Client) MakeRequest(ctx context.Context, req *graphql.Request, resp *graphql.Response) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := c.request(ctx, req)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("sending %s: %w", req.OpName, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxResponse+1))
	if err != nil {
		return fmt.Errorf("reading the answer to %s: %w", req.OpName, err)
	}
	if len(body) > MaxResponse {
		return fmt.Errorf("the answer to %s is longer than %d bytes", req.OpName, MaxResponse)
	}
	return decodeAnswer(response, body, resp)
}

// OnSent has sent told the size of each body before and after compression. It is
// to be called before the first request.
func (c *Client) OnSent(sent func(operation string, raw, compressed int)) {
	c.sent = sent
}

// Close closes the connections that are not in use.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
}

func (c *Client) request(ctx context.Context, req *graphql.Request) (*http.Request, error) {
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	body, raw, err := c.Encode(req)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", req.OpName, err)
	}
	c.sent(req.OpName, raw, body.Len())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body.Bytes()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("Accept", "application/graphql-response+json, application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

// Encode returns the compressed body and its size before compression.
func (c *Client) Encode(req *graphql.Request) (*bytes.Buffer, int, error) {
	var body bytes.Buffer
	compressor := c.compressors.Get().(*gzip.Writer)
	defer c.compressors.Put(compressor)
	compressor.Reset(&body)
	counter := &countingWriter{w: compressor}
	if err := writeBody(counter, req); err != nil {
		return nil, 0, err
	}
	if err := compressor.Close(); err != nil {
		return nil, 0, err
	}
	return &body, counter.n, nil
}

// streamed are variables that write their own JSON, piece by piece.
type streamed interface {
	WriteJSON(w io.Writer) error
}

func writeBody(w io.Writer, req *graphql.Request) error {
	name, err := json.Marshal(req.OpName)
	if err != nil {
		return err
	}
	query, err := json.Marshal(req.Query)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, `{"operationName":%s,"query":%s,"variables":`, name, query); err != nil {
		return err
	}
	if variables, ok := req.Variables.(streamed); ok {
		err = variables.WriteJSON(w)
	} else {
		err = json.NewEncoder(w).Encode(req.Variables)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "}")
	return err
}

type countingWriter struct {
	w io.Writer
	n int
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

// decodeAnswer reads a GraphQL answer. Its errors count whatever the HTTP status
// is, since a refusal may come with 200 and with 4xx alike.
func decodeAnswer(response *http.Response, body []byte, resp *graphql.Response) error {
	err := json.Unmarshal(body, resp)
	switch {
	case err == nil && len(resp.Errors) > 0:
		return &Refusal{Code: errorCode(resp.Errors), Message: errorMessage(resp.Errors), Status: response.StatusCode}
	case response.StatusCode == http.StatusRequestEntityTooLarge:
		// A proxy before the server says so in its own way, and has passed nothing on.
		return &Refusal{Code: CodeTooLarge, Message: "a proxy before it takes no request of this size", Status: response.StatusCode}
	case response.StatusCode == http.StatusGatewayTimeout:
		return fmt.Errorf("a proxy before the server has waited for it (HTTP %d): %w", response.StatusCode, context.DeadlineExceeded)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answered HTTP %d", response.StatusCode)
	case err != nil:
		return fmt.Errorf("the answer is no GraphQL (Content-Type %q): %w", response.Header.Get("Content-Type"), err)
	}
	return nil
}

// CodeTooLarge is the contract's code for a request of more bytes than are taken.
const CodeTooLarge = "TOO_LARGE"

// Refusal is a GraphQL error: the server understood the request and did not do
// what it asks.
type Refusal struct {
	// Code is the contract's, "" where the server gave none.
	Code string
	// Message is the server's, cut where it is long.
	Message string
	// Status is that of HTTP.
	Status int
}

func (r *Refusal) Error() string {
	code := r.Code
	if code == "" {
		code = fmt.Sprintf("HTTP %d", r.Status)
	}
	return fmt.Sprintf("the server refused: %s (%s)", r.Message, code)
}

// Is makes refusals with the same code match each other.
func (r *Refusal) Is(target error) bool {
	other, ok := target.(*Refusal)
	return ok && other.Code == r.Code
}

// IsRefused tells whether a refusal with that code is among the errors of err.
func IsRefused(err error, code string) bool {
	return errors.Is(err, &Refusal{Code: code})
}

func errorCode(list gqlerror.List) string {
	for _, err := range list {
		if err == nil {
			continue
		}
		if code, ok := err.Extensions["code"].(string); ok && code != "" {
			return clean(code)
		}
	}
	return ""
}

func errorMessage(list gqlerror.List) string {
	messages := make([]string, 0, len(list))
	for _, err := range list {
		if err != nil {
			messages = append(messages, err.Message)
		}
	}
	return clean(strings.Join(messages, "; "))
}

// clean cuts what a server sent to maxMessage bytes, on a character boundary,
// and takes out NUL: it goes into logs and errors.
func clean(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")
	return strings.ReplaceAll(text, "\x00", "")
}
