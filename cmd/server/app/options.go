// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// envPrefix leads the environment variable of each flag.
const envPrefix = "STYRMIN_"

// Options are the server's configuration. Each field is a flag.
type Options struct {
	// Listen is the address for the API; port 0 picks one.
	Listen string
	// MetricsListen is the address for /metrics; empty: it is not served.
	MetricsListen string
	// Database names the database: sqlite:PATH or postgres://….
	Database string
	// AdminTokenFile holds an admin token; where it does not exist it is made with
	// the first one. Empty: the first token is printed once.
	AdminTokenFile string
	// TLSCertFile and TLSKeyFile are PEM files; both or none.
	TLSCertFile, TLSKeyFile string
	// ReportInterval is how often agents are to report. Zero: each as often as its
	// own flag says.
	ReportInterval time.Duration
	// ReportTimeout is how old a deployment's last report may be before a step
	// that the operator works on carries the notice (R12).
	ReportTimeout time.Duration
	// AllowAnonymousReports lets agents report without a token.
	AllowAnonymousReports bool
	// Version is the server's own, as it tells it.
	Version string
}

// AddFlags makes the flags with their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:8080", "address for the API, as HOST:PORT")
	flags.StringVar(&o.MetricsListen, "metrics-listen", "127.0.0.1:9090",
		"address for /metrics in Prometheus format, as HOST:PORT; empty: none. Beyond loopback it speaks TLS and wants a viewer's or an admin's token")
	flags.StringVar(&o.Database, "database", "sqlite:styrmin.db",
		"where everything is kept: sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME")
	flags.StringVar(&o.AdminTokenFile, "admin-token-file", "",
		"file that holds an admin token, until that is revoked; where it does not exist, it is made with the first one (default: that is printed once)")
	flags.StringVar(&o.TLSCertFile, "tls-cert-file", "", "PEM file with the server's certificate; needs --tls-key-file. A new one is used without a restart")
	flags.StringVar(&o.TLSKeyFile, "tls-key-file", "", "PEM file with the certificate's key; needs --tls-cert-file")
	flags.DurationVar(&o.ReportInterval, "report-interval", 0,
		"how often all agents are to report, in whole seconds, at most half of --report-timeout; "+
			"0: each as often as its own --report-interval says")
	flags.DurationVar(&o.ReportTimeout, "report-timeout", time.Minute,
		"age of a deployment's last report from which a running step says that no report came since")
	flags.BoolVar(&o.AllowAnonymousReports, "allow-anonymous-reports", false,
		"DANGEROUS: anyone who reaches the API can report, and change a deployment's state by it")
}

// applyEnvironment sets every flag that was not given from its environment
// variable: --report-timeout from STYRMIN_REPORT_TIMEOUT.
func applyEnvironment(flags *pflag.FlagSet, lookup func(string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(flag *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		value, given := lookup(name)
		if flag.Changed || !given || flag.Name == "help" || flag.Name == "version" {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			failed = errors.Join(failed, fmt.Errorf("--%s, from %s: %w", flag.Name, name, err))
		}
	})
	return failed
}

// Validate refuses a configuration that cannot work, naming the flag.
func (o *Options) Validate() error {
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return fmt.Errorf("--listen: %q is not HOST:PORT: %w", o.Listen, err)
	}
	if o.MetricsListen != "" {
		if _, _, err := net.SplitHostPort(o.MetricsListen); err != nil {
			return fmt.Errorf("--metrics-listen: %q is not HOST:PORT: %w", o.MetricsListen, err)
		}
	}
	if o.Database == "" {
		return errors.New("--database: is needed, as sqlite:PATH or postgres://…")
	}
	if o.TLSCertFile != "" && o.TLSKeyFile == "" {
		return errors.New("--tls-key-file: is needed beside --tls-cert-file")
	}
	if o.TLSKeyFile != "" && o.TLSCertFile == "" {
		return errors.New("--tls-cert-file: is needed beside --tls-key-file")
	}
	for flag, path := range map[string]string{"--tls-cert-file": o.TLSCertFile, "--tls-key-file": o.TLSKeyFile} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	if o.ReportInterval < 0 || o.ReportInterval%time.Second != 0 {
		return fmt.Errorf("--report-interval: %s is not a number of whole seconds", o.ReportInterval)
	}
	if o.ReportTimeout < time.Second {
		return fmt.Errorf("--report-timeout: %s is less than a second", o.ReportTimeout)
	}
	if o.ReportInterval > o.ReportTimeout/2 {
		return fmt.Errorf("--report-interval: %s is more than half of --report-timeout, %s: agents would count as silent between two reports",
			o.ReportInterval, o.ReportTimeout)
	}
	return nil
}
