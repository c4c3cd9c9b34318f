// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMetricsBeyondThisMachineSpeakTLS asks for the certificate that a scraper
// gets, by the names in it.
func TestMetricsBeyondThisMachineSpeakTLS(t *testing.T) {
	certFile, keyFile, _ := newCertificate(t, t.TempDir())
	own, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	serving := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &own, nil }}
	for sentence, test := range map[string]struct {
		loopback bool
		serving  *tls.Config
		want     []string
	}{
		"on this machine alone they do not":                 {loopback: true},
		"on this machine alone no certificate is used":      {loopback: true, serving: serving},
		"without a certificate of the server's one is made": {want: []string{"styrmin-server"}},
		"the server's certificate is used":                  {serving: serving, want: []string{"127.0.0.1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			config, err := metricsTLS(test.loopback, test.serving)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, certifiedNames(t, config)); diff != "" {
				t.Errorf("the certificate's names (-want +got):\n%s", diff)
			}
		})
	}
}

// certifiedNames are the names in the certificate that a client is shown.
func certifiedNames(t *testing.T, config *tls.Config) []string {
	t.Helper()
	if config == nil {
		return nil
	}
	ours, theirs := net.Pipe()
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	served := make(chan error, 1)
	go func() { served <- tls.Server(ours, config).HandshakeContext(t.Context()) }()
	client := tls.Client(theirs, &tls.Config{InsecureSkipVerify: true})
	if err := client.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	leaf := client.ConnectionState().PeerCertificates[0]
	names := leaf.DNSNames
	for _, address := range leaf.IPAddresses {
		names = append(names, address.String())
	}
	return names
}
