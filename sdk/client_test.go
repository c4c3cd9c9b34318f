// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAnAddressThatIsNoneIsRefusedWithoutRepeatingIt(t *testing.T) {
	for address, want := range map[string]string{
		"styrmin.example":              "must begin with https:// or http://",
		"https://":                     "has no host",
		"https://u:hunter2@styrmin":    "must not hold credentials",
		"https://u:hunter2@styrmin:x/": "is not a URL",
		"":                             "must begin with https:// or http://",
	} {
		_, err := New(address)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}

func TestTheTokenGoesWithEachCallAndNowhereElse(t *testing.T) {
	layer, requests := meets(networkDown, refusing("UNAUTHENTICATED"))
	calls := 0
	client, _ := fakeClient(t, layer, WithTokenSource(func() (string, error) {
		calls++
		return "styrmin_secret", nil
	}))
	_, err := client.Clusters.List(t.Context())
	if !errors.Is(err, ErrUnauthenticated) || strings.Contains(err.Error(), "styrmin_secret") {
		t.Errorf("the error: %v", err)
	}
	for _, request := range *requests {
		if got := request.header.Get("Authorization"); got != "Bearer styrmin_secret" {
			t.Errorf("the call has the authorization %q", got)
		}
	}
	if calls != 2 {
		t.Errorf("the source was asked %d times for two tries", calls)
	}
}

func TestATokenThatCannotBeSentIsAnErrorWithoutIt(t *testing.T) {
	for name, option := range map[string]Option{
		"a line end":    WithToken("styrmin_secret\n"),
		"a source away": WithTokenSource(func() (string, error) { return "styrmin_secret", errConnectionReset }),
	} {
		layer, requests := meets(networkDown)
		client, _ := fakeClient(t, layer, option)
		_, err := client.Clusters.List(t.Context())
		if err == nil || strings.Contains(err.Error(), "styrmin_secret") || errors.Is(err, ErrUnavailable) || len(*requests) > 0 {
			t.Errorf("%s: %d calls, %v", name, len(*requests), err)
		}
	}
}

// TestARedirectIsNotFollowed: the token is for one server.
func TestARedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("The other server was called") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	client, err := New(server.URL, WithToken("t"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Clusters.Create(t.Context(), "c"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "HTTP 307") {
		t.Errorf("got %v", err)
	}
}

// TestAnUntrustedCertificateIsNotTriedAgain: it will not be trusted later.
func TestAnUntrustedCertificateIsNotTriedAgain(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	handshakes := 0
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes++
		return nil, nil
	}}
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	client, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Clusters.List(t.Context())
	if err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "is not trusted") {
		t.Errorf("got %v", err)
	}
	server.Close()
	if handshakes != 1 {
		t.Errorf("it connected %d times", handshakes)
	}
}

// TestAnAuthorityOfOnesOwnIsTrusted, over HTTP/2, whose connections are asked for a
// sign of life.
func TestAnAuthorityOfOnesOwnIsTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("it was called by %s", r.Proto)
		}
		_, _ = w.Write([]byte(`{"data": {"clusters": []}}`))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client, err := New(server.URL, WithRootCAs(roots))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Clusters.List(t.Context()); err != nil {
		t.Error(err)
	}
	used, ok := client.graphql.(*transport).http.Transport.(*http.Transport)
	if !ok || used.HTTP2 == nil || used.HTTP2.SendPingTimeout == 0 || used.HTTP2.PingTimeout == 0 {
		t.Error("a connection that is dead is used for ever")
	}
	used.CloseIdleConnections()
}
