// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/hack/localcluster/pki"
)

func TestCertificatesStandForWhatWasAskedAndStayTheSame(t *testing.T) {
	dir := t.TempDir()
	request := pki.Request{
		Name: "admin", CommonName: "admin", Organizations: []string{"system:masters"}, Hosts: []string{"127.0.0.1", "localhost"},
	}
	first := issue(t, dir, request)
	cert := parse(t, first.cert)
	if cert.Subject.CommonName != "admin" {
		t.Errorf("common name = %q, want admin", cert.Subject.CommonName)
	}
	if diff := cmp.Diff([]string{"system:masters"}, cert.Subject.Organization); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parse(t, first.ca))
	for _, host := range request.Hosts {
		options := x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if _, err := cert.Verify(options); err != nil {
			t.Errorf("verify for %s: %v", host, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("verify as a client: %v", err)
	}
	if again := issue(t, dir, request); !bytes.Equal(first.cert, again.cert) || !bytes.Equal(first.ca, again.ca) {
		t.Error("a second start has other certificates, so that credentials given out before are void")
	}
}

func TestKeysAreReadableByTheirOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	authority, err := pki.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	signing, err := authority.SigningKey("service-account")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{authority.KeyFile, signing} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("mode of %s = %o, want 600", file, mode)
		}
	}
	again, err := authority.SigningKey("service-account")
	if err != nil || again != signing {
		t.Errorf("second signing key = %s, %v, want the first", again, err)
	}
}

func TestABrokenAuthorityIsAnError(t *testing.T) {
	dir := t.TempDir()
	authority, err := pki.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(authority.CertFile, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pki.Load(dir); err == nil {
		t.Error("no error")
	}
}

type issued struct{ ca, cert []byte }

// issue does what each start of a cluster does.
func issue(t *testing.T, dir string, request pki.Request) issued {
	t.Helper()
	authority, err := pki.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Issue(request)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(authority.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := os.ReadFile(pair.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	return issued{ca: ca, cert: cert}
}

func parse(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	if block == nil {
		t.Fatal("not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
