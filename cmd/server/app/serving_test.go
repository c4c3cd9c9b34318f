// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
)

// newCertificate writes a certificate for the loopback address and its key.
func newCertificate(t *testing.T, dir string) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyBytes, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for path, text := range map[string][]byte{
		certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyBytes}),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

func TestTheServerSpeaksTLSWhereItHasACertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, pool := newCertificate(t, dir)
	s := startServer(t, dir, func(o *Options) { o.TLSCertFile, o.TLSKeyFile = certFile, keyFile })
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.program.Address()+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %s", response.Status)
	}
}

// TestANewCertificateIsUsedWithoutARestart replaces the files, as those who renew
// certificates do.
func TestANewCertificateIsUsedWithoutARestart(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, _ := newCertificate(t, dir)
	s := startServer(t, dir, func(o *Options) { o.TLSCertFile, o.TLSKeyFile = certFile, keyFile })
	_, _, renewed := newCertificate(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: renewed, MinVersion: tls.VersionTLS12}}
		conn, err := dialer.DialContext(ctx, "tcp", s.program.Address())
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the new certificate is not used: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestACertificateThatIsNoneIsRefusedAtTheStart(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, _ := newCertificate(t, dir)
	if err := os.WriteFile(keyFile, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(t.Context(), Options{
		Listen: "127.0.0.1:0", Database: "sqlite:" + filepath.Join(dir, "styrmin.db"), ReportTimeout: time.Minute,
		TLSCertFile: certFile, TLSKeyFile: keyFile,
	}, testr.New(t), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--tls-key-file") {
		t.Errorf("want an error that names the flag, got %v", err)
	}
}

// TestMetricsBeyondThisMachineNeedAReadersToken asks the handler that serves
// /metrics on other addresses than loopback.
func TestMetricsBeyondThisMachineNeedAReadersToken(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	created := s.call(s.token, `mutation { createCluster(input: {name: "demo"}) { agentToken } }`, nil)
	agent := created["createCluster"].(map[string]any)["agentToken"].(string)
	made := s.call(s.token, `mutation { createToken(name: "prometheus", role: VIEWER) { secret } }`, nil)
	viewer := made["createToken"].(map[string]any)["secret"].(string)
	handler := s.program.forReaders(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, test := range map[string]struct {
		token string
		want  int
	}{
		"a viewer reads":           {token: viewer, want: http.StatusOK},
		"an admin reads":           {token: s.token, want: http.StatusOK},
		"an agent does not":        {token: agent, want: http.StatusForbidden},
		"an unknown token is none": {token: "styrmin_unknown", want: http.StatusUnauthorized},
		"no token is not enough":   {want: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
			if test.token != "" {
				request.Header.Set("Authorization", "Bearer "+test.token)
			}
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			if answer.Code != test.want {
				t.Errorf("want %d, got %d: %s", test.want, answer.Code, answer.Body)
			}
		})
	}
	for address, want := range map[string]bool{"127.0.0.1": true, "::1": true, "0.0.0.0": false, "192.0.2.1": false, "::": false} {
		if got := isLoopback(fixedListener{&net.TCPAddr{IP: net.ParseIP(address)}}); got != want {
			t.Errorf("%s is loopback: want %v, got %v", address, want, got)
		}
	}
}

// fixedListener has an address and nothing else.
type fixedListener struct{ address net.Addr }

func (fixedListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (fixedListener) Close() error              { return nil }
func (l fixedListener) Addr() net.Addr          { return l.address }

// TestARunningRequestEndsBeforeTheServerDoes asks the server to end while a
// request's body is on its way: the request is answered all the same.
func TestARunningRequestEndsBeforeTheServerDoes(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	body, send := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.program.Address()+"/graphql", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.token)
	// With this the client sends the body only once the server asks to read it.
	request.Header.Set("Expect", "100-continue")
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	answered := make(chan string, 1)
	go func() { answered <- answerOf(client, request) }()
	if _, err := io.WriteString(send, `{"query": `); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.stop() }()
	waitUntilRefused(t, s.program.Address())
	if _, err := io.WriteString(send, `"{ server { version } }"}`); err != nil {
		t.Fatal(err)
	}
	_ = send.Close()
	if got := <-answered; !strings.Contains(got, `"version":"test"`) {
		t.Errorf("the request was answered with %s", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// answerOf returns the answer's body, or why there is none.
func answerOf(client *http.Client, request *http.Request) string {
	response, err := client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// waitUntilRefused returns once nothing listens at the address.
func waitUntilRefused(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil {
			if ctx.Err() != nil {
				t.Fatal("the server still listens")
			}
			return
		}
		_ = connection.Close()
	}
}

func TestTheLogShowsNoSecret(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	created := s.call(s.token, `mutation { createCluster(input: {name: "demo"}) { agentToken cluster { id } } }`, nil)
	agent := created["createCluster"].(map[string]any)["agentToken"].(string)
	s.call(agent, openSession, map[string]any{"input": map[string]any{"clusterUid": "u", "agentId": "a", "agentVersion": "1"}})
	s.post(agent, `{ tokens { id } }`, nil)
	made := s.call(s.token, `mutation { createToken(name: "wallboard", role: VIEWER) { secret } }`, nil)
	rotated := s.call(s.token, `mutation ($c: ID!) { rotateAgentToken(clusterId: $c) { agentToken } }`,
		map[string]any{"c": created["createCluster"].(map[string]any)["cluster"].(map[string]any)["id"]})
	const unknown, value = "styrmin_unknown-but-secret", "value-of-a-chart"
	s.post(unknown, `{ clusters { id } }`, nil)
	s.post(s.token, `mutation ($spec: JSON!) { updateDeployment(id: "none", spec: $spec) { id } }`,
		map[string]any{"spec": map[string]any{"helmRelease": map[string]any{"values": map[string]any{"password": value}}}})
	for _, secret := range []string{
		s.token, agent, unknown, value, made["createToken"].(map[string]any)["secret"].(string),
		rotated["rotateAgentToken"].(map[string]any)["agentToken"].(string),
	} {
		if bytes.Contains(s.log(), []byte(secret)) {
			t.Errorf("the log shows a token:\n%s", s.log())
		}
	}
	if !bytes.Contains(s.log(), []byte("Opened a report session")) {
		t.Errorf("the log does not tell of the session:\n%s", s.log())
	}
}
