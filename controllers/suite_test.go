// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// patience is how long a test waits for what must come; nothing takes that long
// on an idle machine.
const patience = 2 * time.Minute

// The API server that all tests of this package share. Each test has namespaces
// of its own.
var (
	apiServer *rest.Config
	scheme    = runtime.NewScheme()
)

// crdFolders hold the CustomResourceDefinitions of a cluster with Flux and
// Traefik.
var crdFolders = []string{
	filepath.Join("..", "config", "crd", "bases"),
	filepath.Join("..", "hack", "localcluster", "crds"),
}

func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "controllers:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (code int, err error) {
	ctrl.SetLogger(logr.Discard())
	if err := AddToScheme(scheme); err != nil {
		return 0, fmt.Errorf("registering the API types: %w", err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return 0, fmt.Errorf("registering the API types: %w", err)
	}
	environment, config, err := startAPIServer(crdFolders...)
	if err != nil {
		return 0, err
	}
	defer func() {
		if stopErr := environment.Stop(); err == nil && stopErr != nil {
			err = fmt.Errorf("stopping the API server: %w", stopErr)
		}
	}()
	apiServer = config
	return m.Run(), nil
}

// startAPIServer starts etcd and kube-apiserver with the CRDs of the folders.
func startAPIServer(crds ...string) (*envtest.Environment, *rest.Config, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, nil, fmt.Errorf("KUBEBUILDER_ASSETS is not set: it must name a folder with etcd and kube-apiserver; " +
			"`make test` builds them and sets it")
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: time.Minute},
	}
	config, err := environment.Start()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the API server: %w", err)
	}
	config.QPS = -1 // The tests are bounded by the API server alone.
	return environment, config, nil
}

// operator is a running manager with the operator in it.
type operator struct {
	mgr    ctrl.Manager
	cancel context.CancelFunc
	ended  chan error
}

// startOperator starts a manager with the operator; it ends with the test at
// the latest. wrap may replace its client.
func startOperator(t testing.TB, config *rest.Config, opts Options, wrap client.NewClientFunc) *operator {
	t.Helper()
	mgr := newManager(t, config, CacheByObject(), wrap)
	if err := SetupWithManager(t.Context(), mgr, opts); err != nil {
		t.Fatalf("setting up the operator: %v", err)
	}
	return start(t, mgr)
}

func newManager(t testing.TB, restConfig *rest.Config, byObject map[client.Object]cache.ByObject, wrap client.NewClientFunc) ctrl.Manager {
	t.Helper()
	skip, grace := true, 30*time.Second
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{ByObject: byObject},
		NewClient:               wrap,
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: &skip},
		GracefulShutdownTimeout: &grace,
	})
	if err != nil {
		t.Fatalf("making a manager: %v", err)
	}
	return mgr
}

func start(t testing.TB, mgr ctrl.Manager) *operator {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	o := &operator{mgr: mgr, cancel: cancel, ended: make(chan error, 1)}
	go func() { o.ended <- mgr.Start(ctx) }()
	t.Cleanup(func() { o.stop(t) })
	return o
}

// stop ends the manager, as a crash would as far as the cluster can tell: it
// writes nothing more.
func (o *operator) stop(t testing.TB) {
	t.Helper()
	if o.cancel == nil {
		return
	}
	o.cancel()
	o.cancel = nil
	if err := <-o.ended; err != nil {
		t.Errorf("the manager ended with: %v", err)
	}
}

// fast are options that let a test see in a second what takes a minute.
func fast() Options {
	return Options{
		SettleTime:        time.Millisecond,
		PodGrace:          time.Millisecond,
		DeletedVisibleFor: time.Millisecond,
		RecheckInterval:   200 * time.Millisecond,
		EventDelay:        10 * time.Millisecond,
	}
}

// newClient returns a client that reads from the API server.
func newClient(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return c
}

// eventually polls until check returns nil, and fails with its last error.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not after %s: %v", what, patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
