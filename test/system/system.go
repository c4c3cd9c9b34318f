// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

// Package system runs the whole product from its built programs: the local
// control plane, the server and the manager. The demo and the end-to-end tests
// are made of it.
package system

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// requestTimeout bounds a request to one of the programs.
const requestTimeout = 20 * time.Second

// Options say what to run and where.
type Options struct {
	// Dir holds all state: the cluster's, the server's, tokens and logs. A second
	// Start with the same Dir goes on where the first ended.
	Dir string
	// Localcluster, Server and Manager are the programs' paths.
	Localcluster, Server, Manager string
	// Kubeconfig names an existing cluster to use instead of a local one.
	Kubeconfig string
	// Listen is the server's address. Port 0 picks a free one, once.
	Listen string
	// Charts is the address of the local chart repository; port 0 as above.
	Charts string
	// CRDs is the folder of the product's custom resource definitions. The manager
	// then runs as the cluster's administrator.
	CRDs string
	// Manifests is a file with what config/default builds, instead of CRDs. The
	// manager then runs with the arguments, the ServiceAccount and the roles that it
	// is shipped with.
	Manifests string
	// Progress gets a line for each long step. Nil: nobody is told.
	Progress io.Writer
}

// System is the running product.
type System struct {
	// Client has all rights in the cluster.
	Client client.Client
	// Kubeconfig and ChartsURL are the cluster's.
	Kubeconfig, ChartsURL string
	// Kubectl is the path of the local cluster's kubectl; empty for an existing
	// cluster.
	Kubectl string
	// ServerURL, and the files with the tokens of its admin and the agent.
	ServerURL, AdminTokenFile, AgentTokenFile string
	// ClusterID is the cluster's id on the server.
	ClusterID string

	opts Options
	// installed is nil where the manager runs as the administrator.
	installed *installation
	probe     string
	// serverMetrics and managerMetrics are where the programs serve /metrics.
	serverMetrics, managerMetrics string
	cluster                       *Process
	server                        *Process
	manager                       *Process
	httpClient                    *http.Client
}

// Start brings everything up. When it fails, what was started has been ended.
func Start(ctx context.Context, opts Options) (_ *System, err error) {
	s, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"", s.startCluster}, // It tells its own progress.
		{"manifests", s.Install},
		{"server", s.StartServer},
		{"cluster's entry on the server", s.registerCluster},
		{"manager", s.StartManager},
	} {
		if step.name != "" {
			s.tell("Setting up the %s", step.name)
		}
		if err := step.do(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// prepare makes the folder of a system of which nothing runs.
func prepare(opts Options) (*System, error) {
	s := &System{
		opts:           opts,
		AdminTokenFile: filepath.Join(opts.Dir, "admin-token"),
		AgentTokenFile: filepath.Join(opts.Dir, "agent-token"),
		httpClient:     newHTTPClient(),
	}
	if err := os.MkdirAll(s.logDir(), 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w", err)
	}
	return s, nil
}

func (s *System) tell(format string, args ...any) {
	if s.opts.Progress != nil {
		_, _ = fmt.Fprintf(s.opts.Progress, format+"\n", args...)
	}
}

func (s *System) logDir() string { return filepath.Join(s.opts.Dir, "logs") }

// startCluster starts the local control plane and reads from its ready line
// where it is.
func (s *System) startCluster(ctx context.Context) error {
	args := []string{"up", "--dir", filepath.Join(s.opts.Dir, "cluster"), "--charts-address", s.opts.Charts}
	if s.opts.Kubeconfig != "" {
		args = append(args, "--kubeconfig", s.opts.Kubeconfig)
	}
	stdout, ready := io.Pipe()
	var err error
	if s.cluster, err = startProcess("localcluster", s.logDir(), ready, s.opts.Progress, s.opts.Localcluster, args...); err != nil {
		return err
	}
	go func() {
		<-s.cluster.Done()
		_ = ready.Close()
	}()
	found := make(chan error, 1)
	go func() { found <- s.readReadyLine(stdout) }()
	select {
	case err = <-found:
	case <-s.cluster.Done():
		err = s.cluster.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("starting the local cluster: %w", err)
	}
	return s.connect()
}

// readReadyLine looks for «ready: KUBECONFIG=… charts=… kubectl=…» and goes on
// reading after it, so that the writer never blocks.
func (s *System) readReadyLine(stdout io.Reader) error {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fields, ok := strings.CutPrefix(lines.Text(), "ready: ")
		if !ok {
			continue
		}
		for field := range strings.FieldsSeq(fields) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "KUBECONFIG":
				s.Kubeconfig = value
			case "charts":
				s.ChartsURL = value
			case "kubectl":
				s.Kubectl = value
			}
		}
		go func() { _, _ = io.Copy(io.Discard, stdout) }()
		return nil
	}
	return errors.New("it ended before it was ready")
}

func (s *System) connect() error {
	ctrllog.SetLogger(logr.Discard()) // What goes wrong comes back as errors.
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the cluster's kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, styrminv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	s.Client, err = client.New(config, client.Options{Scheme: scheme})
	return err
}

// StartServer starts the server, on the address that it had before.
func (s *System) StartServer(ctx context.Context) (err error) {
	if s.opts.Listen, err = FreeAddress(ctx, s.opts.Listen); err != nil {
		return err
	}
	return s.startServer(ctx, "--listen", s.opts.Listen, "--metrics-listen", "127.0.0.1:0")
}

// startServer starts the server with these addresses and waits until it is ready.
// Where it serves it says itself: another program may answer at an address that
// it could not get.
func (s *System) startServer(ctx context.Context, addresses ...string) (err error) {
	s.server, err = startProcess("server", s.logDir(), nil, nil, s.opts.Server, append(addresses,
		"--database", "sqlite:"+filepath.Join(s.opts.Dir, "styrmin.db"),
		"--admin-token-file", s.AdminTokenFile)...)
	if err != nil {
		return err
	}
	return s.server.waitUntil(ctx, func(ctx context.Context) error {
		serving, err := findServing(s.server)
		if err != nil {
			return err
		}
		s.ServerURL, s.serverMetrics = "http://"+serving.Address, serving.Metrics
		return s.get(ctx, s.ServerURL+"/readyz")
	})
}

// serving is the line in which the server tells where it serves.
type serving struct{ Msg, Address, Metrics string }

func findServing(server *Process) (serving, error) {
	content, err := server.output()
	if err != nil {
		return serving{}, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var line serving
		// A line that is not whole yet is none.
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Serving" {
			return line, nil
		}
	}
	return serving{}, errors.New("it does not serve yet")
}

// Install applies the manifests that the options name.
func (s *System) Install(ctx context.Context) (err error) {
	if s.opts.Manifests == "" {
		return s.applyCRDs(ctx)
	}
	s.installed, err = s.install(ctx)
	return err
}

// StartManager starts a manager, with a new token of its ServiceAccount where it
// has one. The one before must have ended.
func (s *System) StartManager(ctx context.Context) error {
	var err error
	for _, address := range []*string{&s.probe, &s.managerMetrics} {
		if *address, err = FreeAddress(ctx, "127.0.0.1:0"); err != nil {
			return err
		}
	}
	args := []string{"--metrics-secure=false"}
	if s.installed != nil {
		if err := errors.Join(s.writeKubeconfig(ctx, s.installed), s.forgetLeader(ctx, s.installed)); err != nil {
			return err
		}
		// The flags below win: a later one of the same name does.
		args = slices.Concat(s.installed.args, []string{"--leader-election-namespace", s.installed.namespace})
	}
	args = append(args,
		"--kubeconfig", s.ManagerKubeconfig(),
		"--server-address", s.ServerURL,
		"--token-file", s.AgentTokenFile,
		"--health-probe-bind-address", s.probe,
		"--metrics-bind-address", s.managerMetrics)
	s.manager, err = startProcess("manager", s.logDir(), nil, nil, s.opts.Manager, args...)
	if err != nil {
		return err
	}
	return s.manager.waitUntil(ctx, s.ManagerReady)
}

// ManagerReady asks the manager's readiness probe.
func (s *System) ManagerReady(ctx context.Context) error {
	return s.get(ctx, "http://"+s.probe+"/readyz")
}

// ServerProcess is the server that was started last.
func (s *System) ServerProcess() *Process { return s.server }

// ManagerProcess is the manager that was started last.
func (s *System) ManagerProcess() *Process { return s.manager }

// Wait blocks until ctx ends (nil) or one of the programs does (its error).
func (s *System) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.cluster.Done():
		return s.cluster.Err()
	case <-s.server.Done():
		return s.server.Err()
	case <-s.manager.Done():
		return s.manager.Err()
	}
}

// Stop ends everything, the users of a thing before the thing.
func (s *System) Stop() error {
	var errs []error
	for _, p := range []*Process{s.manager, s.server, s.cluster} {
		if p == nil {
			continue
		}
		select {
		case <-p.Done(): // It has ended already, and whoever waited for it knows.
		default:
			errs = append(errs, p.Stop())
		}
	}
	return errors.Join(errs...)
}

// Free ports are taken above those of local clusters and below those that systems
// give to outgoing connections, which could get a port while its program is away.
const (
	firstPort = 30000
	portCount = 2500
)

// FreeAddress returns address itself, or with a free port where its port is 0.
func FreeAddress(ctx context.Context, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port != "0" {
		return address, err
	}
	offset := rand.IntN(portCount) //nolint:gosec // It only spreads those who look at the same time.
	for i := range portCount {
		free := net.JoinHostPort(host, strconv.Itoa(firstPort+(offset+i)%portCount))
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", free)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("finding a free port: %w", err)
		}
		return free, listener.Close()
	}
	return "", fmt.Errorf("finding a free port: all from %d to %d are in use", firstPort, firstPort+portCount-1)
}
