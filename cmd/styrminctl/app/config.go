// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/styrmin/styrmin/sdk"
)

// config are the flags that say which server to call, and how.
type config struct {
	serverAddress, tokenFile, caFile, file string
}

func (c *config) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.serverAddress, "server-address", "", "address of the server, as https://styrmin.example")
	flags.StringVar(&c.tokenFile, "token-file", "", "file with the token to call the server with")
	flags.StringVar(&c.caFile, "ca-file", "", "PEM file with the certificates to trust for the server, instead of the system's")
	flags.StringVar(&c.file, "config", "", "configuration file (default ~/.config/styrmin)")
}

// settings are what flags, environment and configuration file come to.
type settings struct {
	ServerAddress string `json:"serverAddress,omitempty"`
	Token         string `json:"token,omitempty"`
	TokenFile     string `json:"tokenFile,omitempty"`
	CAFile        string `json:"caFile,omitempty"`
}

// settings reads the configuration: a flag wins over its environment variable,
// and that over the file. The file's token and certificates are for the file's
// server: they are not used for another one.
func (c *config) settings(lookup func(string) (string, bool), warn func(string, ...any)) (*settings, error) {
	from := func(flag, variable string) string {
		if flag != "" {
			return flag
		}
		value, _ := lookup(variable)
		return value
	}
	s := &settings{
		ServerAddress: from(c.serverAddress, "STYRMIN_SERVER_ADDRESS"),
		TokenFile:     from(c.tokenFile, "STYRMIN_TOKEN_FILE"),
		CAFile:        from(c.caFile, "STYRMIN_CA_FILE"),
	}
	if c.tokenFile == "" {
		token, _ := lookup("STYRMIN_TOKEN")
		s.Token = strings.TrimSpace(token)
	}
	file, err := readConfig(from(c.file, "STYRMIN_CONFIG"), lookup, warn)
	if err != nil {
		return nil, err
	}
	if s.ServerAddress == "" || s.ServerAddress == file.ServerAddress {
		s.ServerAddress = file.ServerAddress
		if s.Token == "" && s.TokenFile == "" {
			s.Token, s.TokenFile = file.Token, file.TokenFile
		}
		if s.CAFile == "" {
			s.CAFile = file.CAFile
		}
	}
	if s.ServerAddress == "" {
		return nil, errors.New("no server is configured: give its address with --server-address, STYRMIN_SERVER_ADDRESS, " +
			"or as serverAddress in ~/.config/styrmin")
	}
	if s.hasToken() && travelsInClear(s.ServerAddress) {
		warn("the token travels unencrypted to %s: use https://", s.ServerAddress)
	}
	return s, nil
}

func (s *settings) hasToken() bool { return s.Token != "" || s.TokenFile != "" }

// travelsInClear tells whether others can read what is sent to the address.
func travelsInClear(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" || parsed.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return ip == nil || !ip.IsLoopback()
}

// readConfig reads the configuration file. The one at the usual place need not
// exist.
func readConfig(path string, lookup func(string) (string, bool), warn func(string, ...any)) (*settings, error) {
	named := path != ""
	if !named {
		path = usualConfig(lookup)
	}
	if path == "" {
		return &settings{}, nil
	}
	content, err := os.ReadFile(path) //nolint:gosec // The user names the file.
	if errors.Is(err, fs.ErrNotExist) && !named {
		return &settings{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration: %w", err)
	}
	s := &settings{}
	if err := yaml.UnmarshalStrict(content, s); err != nil {
		return nil, fmt.Errorf("reading the configuration %s: %s", path, strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: "))
	}
	for _, file := range []*string{&s.TokenFile, &s.CAFile} {
		if *file != "" && !filepath.IsAbs(*file) {
			*file = filepath.Join(filepath.Dir(path), *file)
		}
	}
	if info, err := os.Stat(path); err == nil && s.Token != "" && info.Mode().Perm()&0o077 != 0 {
		warn("others can read the token in %s: run chmod 600 %s", path, path)
	}
	return s, nil
}

// usualConfig is where the configuration file is when nobody says otherwise; empty
// for a user without a home.
func usualConfig(lookup func(string) (string, bool)) string {
	if dir, _ := lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "styrmin")
	}
	home, _ := lookup("HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config", "styrmin")
}

// client makes the client. A token file is read anew for each call, so that a
// wait lives through the replacement of its token.
func (s *settings) client() (*sdk.Client, error) {
	options := []sdk.Option{sdk.WithToken(s.Token)}
	if s.Token == "" && s.TokenFile != "" {
		if _, err := readToken(s.TokenFile); err != nil {
			return nil, err
		}
		options = append(options, sdk.WithTokenSource(func() (string, error) { return readToken(s.TokenFile) }))
	}
	if s.CAFile != "" {
		roots, err := readCertificates(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		options = append(options, sdk.WithRootCAs(roots))
	}
	client, err := sdk.New(s.ServerAddress, options...)
	if err != nil {
		return nil, fmt.Errorf("--server-address: %w", err)
	}
	return client, nil
}

func readToken(path string) (string, error) {
	content, err := os.ReadFile(path) //nolint:gosec // The user names the file.
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("--token-file: %s is empty", path)
	}
	return token, nil
}

func readCertificates(path string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return roots, nil
}
