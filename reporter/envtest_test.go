// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// sharedEnvironment is the API server that most tests use, each in namespaces
// of its own. It is started for the first that needs it.
var sharedEnvironment struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // what the tests want to see they log themselves
	code := m.Run()
	if env := sharedEnvironment.env; env != nil {
		_ = env.Stop()
	}
	if err := stopRealServer(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the server:", err)
		code = 1
	}
	os.Exit(code)
}

// sharedConfig returns a client configuration for a real API server.
func sharedConfig(t *testing.T) *rest.Config {
	t.Helper()
	requireAssets(t)
	sharedEnvironment.once.Do(func() {
		sharedEnvironment.env = newEnvironment()
		sharedEnvironment.config, sharedEnvironment.err = sharedEnvironment.env.Start()
	})
	if sharedEnvironment.err != nil {
		t.Fatalf("starting the API server: %v", sharedEnvironment.err)
	}
	return rest.CopyConfig(sharedEnvironment.config)
}

// requireAssets skips tests that need an API server where there is none; make
// test sets the variable.
func requireAssets(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver")
	}
}

func newEnvironment() *envtest.Environment {
	return &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
		CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: time.Minute},
	}
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, styrminv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// testClient returns an uncached client.
func testClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: testScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
