// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
	"github.com/styrmin/styrmin/test/system"
)

const crds = "../../config/crd/bases"

// shared is the API server of the scenarios that do no harm to it itself, each
// in namespaces of its own. It is started for the first that needs it.
var shared struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error
}

func sharedConfig(t *testing.T) *rest.Config {
	t.Helper()
	shared.once.Do(func() {
		shared.env = newEnvironment(t)
		shared.config, shared.err = shared.env.Start()
	})
	if shared.err != nil {
		t.Fatalf("starting the API server: %v", shared.err)
	}
	return rest.CopyConfig(shared.config)
}

// ownEnvironment returns an API server of the scenario's own, to do harm to. The
// configuration stays good when it is started again, though its certificates do
// not.
func ownEnvironment(t *testing.T) (*envtest.Environment, *rest.Config) {
	t.Helper()
	env := newEnvironment(t)
	// How long it lingers on open watches when it is stopped.
	env.ControlPlane.GetAPIServer().Configure().Set("request-timeout", "5s")
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("test-token,test-user,uid,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env.ControlPlane.GetAPIServer().Configure().Set("token-auth-file", tokens)
	config, err := env.Start()
	if err != nil {
		t.Fatalf("starting an API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	return env, &rest.Config{
		Host: "https://" + strings.TrimPrefix(config.Host, "https://"), BearerToken: "test-token",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
}

func newEnvironment(t *testing.T) *envtest.Environment {
	t.Helper()
	address, err := system.FreeAddress(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{crds}, ErrorIfCRDPathMissing: true,
		// On a busy machine.
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: time.Minute},
		ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute,
	}
	// envtest would take a port that one of the many connections here may get before
	// the API server does, and while it is away.
	serving := &env.ControlPlane.GetAPIServer().SecureServing
	serving.Address, serving.Port, err = net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, styrminv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// newClient returns an uncached client.
func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
