// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// The most that a deployment may cost until it is settled, events apart, and the
// longest time until a new manager has looked at all settled ones.
const (
	maxReconciles  = 20
	maxWrites      = 25
	maxRestart     = 30 * time.Second
	crowdNamespace = "crowd"
)

// BenchmarkO8Crowd creates many deployments at once on the local cluster, waits
// until all of them are Running, and restarts the manager. CROWD says how many
// (1000).
func BenchmarkO8Crowd(b *testing.B) {
	n := int(number(b, "CROWD", 1000))
	if err := sys.ManagerProcess().Stop(); err != nil {
		b.Fatal(err)
	}
	manager := startCounted(b)
	if err := sys.Client.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: crowdNamespace}}); err != nil {
		b.Fatal(err)
	}
	begin := time.Now()
	for i := range n {
		if err := sys.Client.Create(b.Context(), smallShop(crowdNamespace, "crowd", fmt.Sprintf("shop-%d", i))); err != nil {
			b.Fatal(err)
		}
	}
	waitForCrowd(b, n)
	running := time.Since(begin)
	reconciles, writes := manager.cost(b.Context(), b)
	manager.stop(b)

	begin = time.Now()
	again := startCounted(b)
	eventuallyB(b, time.Minute, func(ctx context.Context) error {
		if seen, _ := again.cost(ctx, b); seen < float64(n) {
			return fmt.Errorf("the new manager has looked %v times", seen)
		}
		return nil
	})
	restart := time.Since(begin)
	_, more := again.cost(b.Context(), b)
	again.stop(b)

	b.ReportMetric(reconciles/float64(n), "reconciles/deployment")
	b.ReportMetric(writes/float64(n), "writes/deployment")
	b.ReportMetric(running.Seconds(), "s-to-running")
	b.ReportMetric(restart.Seconds(), "s-to-restart")
	b.ReportMetric(more, "writes-after-restart")
	if reconciles/float64(n) >= maxReconciles || writes/float64(n) >= maxWrites || more > 0 || restart > maxRestart {
		b.Errorf("too much for %d deployments: %.1f reconciles and %.1f writes each, %v writes and %s after a restart",
			n, reconciles/float64(n), writes/float64(n), more, restart)
	}
}

func waitForCrowd(b *testing.B, n int) {
	b.Helper()
	eventuallyB(b, 2*time.Second*time.Duration(n)+3*time.Minute, func(ctx context.Context) error {
		list := &styrminv1.StyrminDeploymentList{}
		if err := sys.Client.List(ctx, list, client.InNamespace(crowdNamespace)); err != nil {
			return err
		}
		running := 0
		for i := range list.Items {
			if list.Items[i].Status.DisplayState == styrminv1.DisplayStateRunning {
				running++
			}
		}
		if running < n {
			return fmt.Errorf("%d of %d are Running", running, n)
		}
		return nil
	})
}

// counted is a manager with the operator alone, whose metrics can be read.
type counted struct {
	process *exec.Cmd
	address string
}

func startCounted(b *testing.B) *counted {
	b.Helper()
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	m := &counted{address: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		b.Fatal(err)
	}
	m.process = exec.CommandContext(b.Context(), managerProgram, "--kubeconfig", sys.Kubeconfig,
		"--disable", "reporter,worker", "--health-probe-bind-address", "0", "--metrics-bind-address", m.address, "--metrics-secure=false")
	if err := m.process.Start(); err != nil {
		b.Fatal(err)
	}
	eventuallyB(b, time.Minute, func(ctx context.Context) error {
		_, err := m.metrics(ctx)
		return err
	})
	return m
}

func (m *counted) stop(b *testing.B) {
	b.Helper()
	if err := m.process.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := m.process.Wait(); err != nil {
		b.Fatal(err)
	}
}

// cost is how many reconciles the manager has ended, and what it has written.
func (m *counted) cost(ctx context.Context, b *testing.B) (reconciles, writes float64) {
	b.Helper()
	sums, err := m.metrics(ctx)
	if err != nil {
		b.Fatal(err)
	}
	return sums["controller_runtime_reconcile_total"], sums["styrmin_operator_writes_total"]
}

// metrics reads the manager's metrics and sums each one's series.
func (m *counted) metrics(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.address+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	sums := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		series, text, _ := strings.Cut(lines.Text(), "} ")
		name, _, _ := strings.Cut(series, "{")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			sums[name] += value
		}
	}
	return sums, lines.Err()
}

// eventuallyB calls check until it returns nil, and ends the benchmark with its
// last error after timeout.
func eventuallyB(b *testing.B, timeout time.Duration, check func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), timeout)
	defer cancel()
	ticker := time.NewTicker(time.Second / 4)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("not after %s: %v", timeout, err)
		case <-ticker.C:
		}
	}
}
