// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// suite is what the tests share: one API server and one Styrmin server. Each test
// has a cluster of its own on the latter, and an environment in the former.
var suite struct {
	once   sync.Once
	err    error
	env    *envtest.Environment
	config *rest.Config
	server *realServer
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if suite.env != nil {
		_ = suite.env.Stop()
	}
	if suite.server != nil {
		suite.server.stop()
	}
	os.Exit(code)
}

// startSuite starts both servers for the first test that needs them.
func startSuite(t *testing.T) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver")
	}
	suite.once.Do(func() {
		suite.env = &envtest.Environment{
			CRDDirectoryPaths:     []string{filepath.Join("..", "config", "crd", "bases")},
			ErrorIfCRDPathMissing: true,
			CRDInstallOptions:     envtest.CRDInstallOptions{MaxTime: time.Minute},
		}
		suite.config, suite.err = suite.env.Start()
		if suite.err == nil {
			suite.server, suite.err = startServer()
		}
	})
	if suite.err != nil {
		t.Fatal(suite.err)
	}
}

// cluster returns a client with all rights that reads from the API server itself.
func cluster(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, styrminv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// realServer is the server's program, with its data in a folder of its own.
type realServer struct {
	dir        string
	url        string
	adminToken string
	process    *exec.Cmd
}

// startServer builds the program as make build does, so that it is built once.
func startServer() (*realServer, error) {
	dir, err := os.MkdirTemp("", "styrmin-worker-test")
	if err != nil {
		return nil, err
	}
	s := &realServer{dir: dir}
	program := filepath.Join(dir, "styrmin-server")
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-o", program, "../cmd/server")
	if out, err := build.CombinedOutput(); err != nil {
		return s, fmt.Errorf("building the server: %w\n%s", err, out)
	}
	tokenFile := filepath.Join(dir, "admin-token")
	s.process = exec.CommandContext(context.Background(), program, "--listen", "127.0.0.1:0", "--metrics-listen", "",
		"--database", "sqlite:"+filepath.Join(dir, "styrmin.db"), "--admin-token-file", tokenFile)
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := s.process.StderrPipe()
	if err != nil {
		return s, err
	}
	if err := s.process.Start(); err != nil {
		return s, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		line := struct{ Msg, Address string }{}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Serving" {
			s.url = "http://" + line.Address
			break
		}
	}
	if s.url == "" {
		return s, errors.New("the server did not say where it serves")
	}
	go func() {
		for lines.Scan() { // So that it never waits for a reader of its log.
		}
	}()
	token, err := os.ReadFile(tokenFile)
	s.adminToken = strings.TrimSpace(string(token))
	return s, err
}

func (s *realServer) stop() {
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Signal(syscall.SIGTERM)
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
