// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"fmt"

	certutil "k8s.io/client-go/util/cert"
)

// metricsTLS is how /metrics speaks TLS; nil where only this machine can reach it.
// Beyond that the readers' tokens are not to travel in the clear: without a
// certificate of the server's, one is made at each start, which encrypts and
// proves nothing.
func metricsTLS(loopback bool, serving *tls.Config) (*tls.Config, error) {
	if loopback {
		return nil, nil
	}
	if serving != nil {
		return serving.Clone(), nil
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("styrmin-server", nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics' certificate: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}
