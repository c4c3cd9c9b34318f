// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/peterbourgon/ff/v3"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/styrmin/styrmin/internal/serverclient"
)

// The parts of the agent that --disable can name.
const (
	partWorker   = "worker"
	partOperator = "operator"
	partReporter = "reporter"
)

var parts = []string{partWorker, partOperator, partReporter}

// minReportInterval keeps a typing error from becoming a flood.
const minReportInterval = time.Second

// options is the agent's whole configuration; every flag has an environment
// variable of its name with the prefix STYRMIN_.
type options struct {
	serverAddress  string
	tokenFile      string
	caFile         string
	clusterID      string
	reportInterval time.Duration
	podSelector    labels.Selector
	namespaces     []string
	disabled       []string

	leaderElect             bool
	leaderElectionNamespace string
	metricsBindAddress      string
	metricsSecure           bool
	healthProbeBindAddress  string
	zap                     zap.Options

	showVersion bool
}

// parseOptions reads flags and environment. Every error names its flag; help
// and version go to out.
func parseOptions(args []string, out io.Writer) (*options, error) {
	o := &options{podSelector: labels.Everything()}
	fs := flag.NewFlagSet("manager", flag.ContinueOnError)
	fs.SetOutput(out)
	config.RegisterFlags(fs)
	o.zap.BindFlags(fs)

	fs.StringVar(&o.serverAddress, "server-address", "",
		"Address of the Styrmin server, as https://styrmin.example. Needed unless worker and reporter are disabled.")
	fs.StringVar(&o.tokenFile, "token-file", "", "File that holds the cluster's agent token; read again when it changes.")
	fs.StringVar(&o.caFile, "ca-file", "", "File with PEM certificates of the authorities to trust for the server, instead of the system's.")
	fs.StringVar(&o.clusterID, "cluster-id", "", "Id of this cluster on the server; only where the token does not say it.")
	fs.DurationVar(&o.reportInterval, "report-interval", 5*time.Second, "Time between two reports; the server's own setting wins.")
	fs.BoolVar(&o.leaderElect, "leader-elect", false, "Let one replica at a time work. Needed with more than one.")
	fs.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "",
		"Namespace of the leader election's Lease. Default: the namespace that the agent runs in.")
	fs.StringVar(&o.metricsBindAddress, "metrics-bind-address", "0", "Address that serves /metrics, as :8443; 0 serves none.")
	fs.BoolVar(&o.metricsSecure, "metrics-secure", true, "Serve /metrics over HTTPS to authenticated and authorised clients only.")
	fs.StringVar(&o.healthProbeBindAddress, "health-probe-bind-address", ":8081", "Address that serves /healthz and /readyz; 0 serves none.")
	fs.BoolVar(&o.showVersion, "version", false, "Print the version and exit.")
	fs.Func("pod-selector", "Label selector of the pods to report. Default: all.", func(s string) (err error) {
		o.podSelector, err = labels.Parse(s)
		return err
	})
	fs.Func("namespaces", "Namespaces whose pods to report, comma-separated. Default: all.", listInto(&o.namespaces))
	fs.Func("disable", "Parts of the agent not to run, comma-separated: "+strings.Join(parts, ", ")+".", listInto(&o.disabled))

	if err := ff.Parse(fs, args, ff.WithEnvVarPrefix("STYRMIN")); err != nil {
		return nil, err
	}
	if o.showVersion {
		_, err := fmt.Fprintln(out, "manager", version)
		return o, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: the manager takes flags only", fs.Arg(0))
	}
	return o, o.validate()
}

// listInto returns a flag function that reads a comma-separated list.
func listInto(list *[]string) func(string) error {
	return func(s string) error {
		*list = nil
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*list = append(*list, part)
			}
		}
		return nil
	}
}

func (o *options) validate() error {
	for _, part := range o.disabled {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("--disable: unknown part %q, known are %s", part, strings.Join(parts, ", "))
		}
	}
	if !o.needsServer() {
		return nil
	}
	if o.serverAddress == "" {
		return errors.New("--server-address is needed: the address of the Styrmin server, as https://styrmin.example")
	}
	if _, err := serverclient.Endpoint(o.serverAddress); err != nil {
		return fmt.Errorf("--server-address %w; an example is https://styrmin.example", err)
	}
	if o.reportInterval < minReportInterval {
		return fmt.Errorf("--report-interval: %s is shorter than %s", o.reportInterval, minReportInterval)
	}
	for _, f := range []struct{ flag, path string }{{"--token-file", o.tokenFile}, {"--ca-file", o.caFile}} {
		if f.path == "" {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}

// enabled tells whether a part of the agent is to run.
func (o *options) enabled(part string) bool {
	return !slices.Contains(o.disabled, part)
}

// needsServer tells whether a part that calls the server is to run.
func (o *options) needsServer() bool {
	return o.enabled(partWorker) || o.enabled(partReporter)
}
