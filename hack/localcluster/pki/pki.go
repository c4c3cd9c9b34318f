// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes the certificates and keys of a local cluster and keeps them in a folder, so that a cluster that is
// started again accepts the credentials it gave out before.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity is how long all certificates of a cluster are good for.
const validity = 10 * 365 * 24 * time.Hour

// Pair names the files of a certificate and its key.
type Pair struct {
	CertFile string
	KeyFile  string
}

// Authority is the certificate authority of one cluster.
type Authority struct {
	Pair
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// Request says what a certificate is for.
type Request struct {
	// Name is the base name of its files.
	Name string
	// CommonName is the user that a client certificate stands for.
	CommonName string
	// Organizations are the groups that a client certificate stands for.
	Organizations []string
	// Hosts are the names and IP addresses that a serving certificate stands for.
	Hosts []string
}

// Load reads the authority of the folder, or makes it on first use.
func Load(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the certificates' folder: %w", err)
	}
	a := &Authority{Pair: pairIn(dir, "ca"), dir: dir}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "localcluster-ca"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	if !a.exists() {
		key, err := newKey()
		if err != nil {
			return nil, err
		}
		if err := write(a.Pair, template, template, key, key); err != nil {
			return nil, fmt.Errorf("make the certificate authority: %w", err)
		}
	}
	if err := a.read(); err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	return a, nil
}

// Issue returns a certificate for the request, made on first use.
func (a *Authority) Issue(request Request) (Pair, error) {
	pair := pairIn(a.dir, request.Name)
	if pair.exists() {
		return pair, nil
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: request.CommonName, Organization: request.Organizations},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range request.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	if err := write(pair, template, a.cert, key, a.key); err != nil {
		return Pair{}, fmt.Errorf("issue the certificate of %s: %w", request.Name, err)
	}
	return pair, nil
}

// SigningKey returns the file of a private key without a certificate, made on first use.
func (a *Authority) SigningKey(name string) (string, error) {
	file := filepath.Join(a.dir, name+".key")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	key, err := newKey()
	if err != nil {
		return "", err
	}
	return file, writeKey(file, key)
}

func (a *Authority) read() error {
	certPEM, err := os.ReadFile(a.CertFile)
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(a.KeyFile)
	if err != nil {
		return err
	}
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return fmt.Errorf("%s or %s is not PEM", a.CertFile, a.KeyFile)
	}
	if a.cert, err = x509.ParseCertificate(certBlock.Bytes); err != nil {
		return err
	}
	a.key, err = x509.ParseECPrivateKey(keyBlock.Bytes)
	return err
}

func pairIn(dir, name string) Pair {
	return Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
}

// exists looks for the certificate, which is written last.
func (p Pair) exists() bool {
	_, err := os.Stat(p.CertFile)
	return !errors.Is(err, fs.ErrNotExist)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

// write signs the template's certificate for the key and writes both; the certificate comes last and by rename, so that
// an interrupted run leaves no pair that looks whole.
func write(pair Pair, template, parent *x509.Certificate, key *ecdsa.PrivateKey, signer crypto.Signer) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	if err := writeKey(pair.KeyFile, key); err != nil {
		return err
	}
	return writeFile(pair.CertFile, "CERTIFICATE", der)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writeFile(file, "EC PRIVATE KEY", der)
}

func writeFile(file, kind string, der []byte) error {
	temporary := file + ".new"
	if err := os.WriteFile(temporary, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}
