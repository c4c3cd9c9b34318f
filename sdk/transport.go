// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/Khan/genqlient/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

const (
	// requestTimeout bounds one try of a call.
	requestTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is read, in bytes.
	maxAnswer = 64 << 20
)

// transport sends operations to one server. Whatever is not the whole answer of
// a GraphQL server is an error; errors never hold the token.
type transport struct {
	// address is the base URL, for messages.
	address  string
	endpoint string
	token    func() (string, error)
	// hadToken: the source has given a token before.
	hadToken atomic.Bool
	http     *http.Client
}

// connectionDoubt is how long an HTTP/2 connection may tell nothing until it is
// asked for a sign of life, and how long that may take. One that fails is given up:
// a request that runs out of time says nothing about its connection, and the next
// would take the same one.
const connectionDoubt = 5 * time.Second

// sharedHTTPTransport has the connections of all clients that bring none.
var sharedHTTPTransport = newHTTPTransport(nil)

// newHTTPTransport trusts these authorities; nil: those of the system.
func newHTTPTransport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: connectionDoubt, PingTimeout: connectionDoubt}
	return t
}

var _ graphql.Client = (*transport)(nil)

// MakeRequest sends the operation and reads the answer into response.
func (t *transport) MakeRequest(ctx context.Context, operation *graphql.Request, response *graphql.Response) error {
	tryCtx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := t.request(tryCtx, operation)
	if err != nil {
		return err
	}
	answer, err := t.http.Do(request)
	if err != nil {
		return t.notAnswered(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return t.notAnswered(ctx, err)
	}
	if len(body) > maxAnswer {
		return fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	return t.decode(answer, body, response)
}

func (t *transport) request(ctx context.Context, operation *graphql.Request) (*http.Request, error) {
	token, err := t.token()
	switch {
	case err != nil && t.hadToken.Load():
		return nil, fmt.Errorf("%w: %w", ErrNoToken, err)
	case err != nil: // One that never worked is set up wrongly.
		return nil, fmt.Errorf("getting the token: %w", err)
	}
	t.hadToken.Store(true)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("the token holds a character that no token has")
	}
	body, err := json.Marshal(operation)
	if err != nil {
		return nil, fmt.Errorf("encoding the call: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/graphql-response+json, application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return request, nil
}

// notAnswered says why no answer came. A certificate that is not trusted will
// not be when it is looked at again; the end of the caller's context is no fault
// of the server.
func (t *transport) notAnswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err // the address is said already
	}
	var untrusted *tls.CertificateVerificationError
	if errors.As(err, &untrusted) {
		return fmt.Errorf("the server at %s is not trusted: %w", t.address, untrusted.Err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("nothing came within %s", requestTimeout)
	}
	return &unavailable{t.address, err}
}

// decode reads an answer. GraphQL errors count whatever the HTTP status is,
// since a refusal may come with 200 and with 4xx alike.
func (t *transport) decode(answer *http.Response, body []byte, response *graphql.Response) error {
	isOK := answer.StatusCode == http.StatusOK
	// Read apart first: missing or null data would leave empty fields, which say
	// that nothing is there, or that nothing changes.
	var data json.RawMessage
	envelope := graphql.Response{Data: &data}
	err := json.Unmarshal(body, &envelope)
	if len(data) > 0 {
		err = errors.Join(err, json.Unmarshal(data, response.Data))
	}
	response.Errors = envelope.Errors
	switch {
	case len(response.Errors) > 0 && codeOf(response.Errors) != "":
		return refusal(response.Errors)
	case !isOK:
		return &unavailable{t.address, fmt.Errorf("what answered said HTTP %d", answer.StatusCode)}
	case err == nil && len(response.Errors) > 0 && response.Errors[0] != nil:
		return &unavailable{t.address, fmt.Errorf("what answered gave an error without a code: %.200q", response.Errors[0].Message)}
	case err != nil || len(data) == 0 || len(response.Errors) > 0:
		return &unavailable{t.address, fmt.Errorf("what answered is no GraphQL (Content-Type %q)", answer.Header.Get("Content-Type"))}
	}
	return nil
}

// refusal is the first error that has a code.
func refusal(list gqlerror.List) error {
	for _, err := range list {
		if code := stringOf(err, "code"); code != "" {
			return &Error{Code: Code(code), Field: stringOf(err, "field"), Message: err.Message}
		}
	}
	return list
}

func codeOf(list gqlerror.List) string {
	for _, err := range list {
		if code := stringOf(err, "code"); code != "" {
			return code
		}
	}
	return ""
}

func stringOf(err *gqlerror.Error, extension string) string {
	if err == nil {
		return ""
	}
	text, _ := err.Extensions[extension].(string)
	return text
}
