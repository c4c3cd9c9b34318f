// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// contenderCommand runs this program as one contender.
const contenderCommand = "contender"

// interval is the time between two snapshots of every contender.
const interval = 5 * time.Second

// The contenders.
const (
	ours = "reporter"
	// informerBaseline keeps a default informer cache and sends everything, each
	// time.
	informerBaseline = "informer cache, deep copies, full JSON"
	// listBaseline keeps nothing, asks for everything and sends everything, each
	// time.
	listBaseline = "full LIST"
)

// contenders run until the context ends.
var contenders = map[string]func(context.Context, *contest) error{
	ours:             runReporter,
	informerBaseline: runInformerBaseline,
	listBaseline:     runListBaseline,
}

// contest is what a contender is given, and where it tells what it did.
type contest struct {
	config *rest.Config
	scheme *runtime.Scheme
	// target is the server's address, tokenFile the agent's token.
	target, tokenFile string

	requests atomic.Int64 // of the API server
	mu       sync.Mutex
	counted  counters
	// count replaces counted where the contender counts itself.
	count func() (counters, error)
}

// counters are what a contender has done since its start.
type counters struct {
	Cycles              int
	RawBytes, SentBytes float64
	SnapshotSeconds     float64
	CPUSeconds          float64
	APIRequests         int64
}

func runContender(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(contenderCommand, flag.ContinueOnError)
	name := flags.String("name", "", "Which.")
	kubeconfig := flags.String("kubeconfig", "", "File that says how to reach the API server.")
	c := &contest{scheme: runtime.NewScheme()}
	flags.StringVar(&c.target, "target", "", "Where it sends to.")
	flags.StringVar(&c.tokenFile, "token-file", "", "File with the agent's token.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	contend, ok := contenders[*name]
	if !ok {
		return fmt.Errorf("there is no contender %q", *name)
	}
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, styrminv1.AddToScheme} {
		if err := add(c.scheme); err != nil {
			return err
		}
	}
	var err error
	if c.config, err = clientcmd.BuildConfigFromFlags("", *kubeconfig); err != nil {
		return err
	}
	c.config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return &countingTransport{next, &c.requests} }
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving := &http.Server{Handler: http.HandlerFunc(c.tell), ReadHeaderTimeout: time.Minute}
	go func() { _ = serving.Serve(listener) }()
	fmt.Println("http://" + listener.Addr().String())
	if err := contend(ctx, c); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// countingTransport counts the requests that pass it.
type countingTransport struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (t *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.count.Add(1)
	return t.next.RoundTrip(r)
}

// cycle takes in what one cycle came to.
func (c *contest) cycle(snapshot time.Duration, raw, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counted.Cycles++
	c.counted.SnapshotSeconds += snapshot.Seconds()
	c.counted.RawBytes += float64(raw)
	c.counted.SentBytes += float64(sent)
}

// tell answers with the counters.
func (c *contest) tell(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	counted := c.counted
	c.mu.Unlock()
	if c.count != nil {
		var err error
		if counted, err = c.count(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	usage := syscall.Rusage{}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	counted.CPUSeconds = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	counted.APIRequests = c.requests.Load()
	_ = json.NewEncoder(w).Encode(counted)
}

// every calls cycle each interval until the context ends, or at once where the
// one before took longer.
func every(ctx context.Context, cycle func() error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := cycle(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
