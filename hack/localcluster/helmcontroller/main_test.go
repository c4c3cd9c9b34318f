// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/hack/localcluster/chartrepo"
	"github.com/styrmin/styrmin/hack/localcluster/cluster"
	"github.com/styrmin/styrmin/hack/localcluster/cmd"
)

// testCluster is the cluster that all tests of the package share; each test has namespaces of its own.
var testCluster struct {
	client    client.WithWatch
	chartsURL string
}

// TestMain runs the tests on a real cluster. The cluster starts the HelmRelease controller as a child of this program, so
// the program also is that child when it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == cluster.HelmReleaseControllerCommand {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := cmd.New().ExecuteContext(ctx)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(logr.Discard())
	code, err := runOnCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Test cluster:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func runOnCluster(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "helmcontroller-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, stop := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		upErr := cluster.Up(ctx, cluster.Options{
			Dir: dir, Nodes: 1, ChartsAddress: "127.0.0.1:0", Ready: writer, Progress: os.Stderr,
		})
		_ = writer.Close()
		ended <- upErr
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	line, readErr := bufio.NewReader(reader).ReadString('\n')
	if !strings.HasPrefix(line, "ready: ") {
		return 1, fmt.Errorf("the cluster did not get ready: %w", readErr)
	}
	if testCluster.client, err = newClient(filepath.Join(dir, "kubeconfig")); err != nil {
		return 1, err
	}
	handler, err := chartrepo.Handler(os.DirFS("testdata/charts"), map[string][]string{"server": {"0.1.0", "0.2.0"}})
	if err != nil {
		return 1, err
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	testCluster.chartsURL = server.URL
	return m.Run(), nil
}

func newClient(kubeconfig string) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}
