// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/hack/localcluster/binaries"
	"github.com/styrmin/styrmin/hack/localcluster/process"
	"github.com/styrmin/styrmin/hack/localcluster/simulation"
)

// Address ranges inside the cluster. Nothing routes them: simulated pods have no network.
const (
	serviceRange = "10.0.0.0/16"
	podRange     = "10.244.0.0/16"
	nodeIP       = "10.1.0.1"
)

// controlPlane holds what the commands of its processes are made of.
type controlPlane struct {
	layout      layout
	ports       ports
	credentials credentials
	paths       map[binaries.Binary]string
	// health asks the processes how they are.
	health *http.Client
}

// newControlPlane writes all that the processes read when they start.
func newControlPlane(l layout, picked ports, paths map[binaries.Binary]string) (*controlPlane, error) {
	c := &controlPlane{layout: l, ports: picked, paths: paths}
	var err error
	if c.credentials, err = newCredentials(l, c.apiServerURL()); err != nil {
		return nil, err
	}
	if c.health, err = healthClient(c.credentials.authority.CertFile); err != nil {
		return nil, err
	}
	return c, writeStages(l)
}

// startAPIServer starts etcd and kube-apiserver and waits until it answers.
func (c *controlPlane) startAPIServer(ctx context.Context, s *supervisor) error {
	for _, spec := range []process.Spec{c.etcd(), c.apiServer()} {
		if err := s.startTier(spec); err != nil {
			return err
		}
	}
	return await(ctx, "get an answer from kube-apiserver", healthy(c.health, c.apiServerURL()+"/readyz"))
}

// awaitControllers waits until the started controllers say that they are healthy and have made the cluster one that runs
// pods.
func (c *controlPlane) awaitControllers(ctx context.Context, k client.Client, nodes int) error {
	for _, url := range []string{
		"https://" + address(c.ports.controllerManager) + "/healthz",
		"https://" + address(c.ports.scheduler) + "/healthz",
		"http://" + address(c.ports.kwok) + "/healthz",
	} {
		if err := await(ctx, "get an answer from "+url, healthy(c.health, url)); err != nil {
			return err
		}
	}
	if err := await(ctx, "get the nodes Ready", nodesReady(k, nodes)); err != nil {
		return err
	}
	return await(ctx, "get the default service account", serviceAccountExists(k))
}

func (c *controlPlane) apiServerURL() string { return "https://" + address(c.ports.apiServer) }

func (c *controlPlane) spec(binary binaries.Binary, args ...string) process.Spec {
	name := string(binary)
	return process.Spec{Name: name, Path: c.paths[binary], Args: args, LogFile: c.layout.log(name)}
}

func (c *controlPlane) etcd() process.Spec {
	client, peer := "https://"+address(c.ports.etcd), "https://"+address(c.ports.etcdPeer)
	return c.spec(binaries.Etcd,
		"--name=localcluster",
		"--data-dir="+c.layout.etcdData(),
		"--listen-client-urls="+client,
		"--advertise-client-urls="+client,
		"--listen-peer-urls="+peer,
		"--initial-advertise-peer-urls="+peer,
		"--initial-cluster=localcluster="+peer,
		"--client-cert-auth",
		"--trusted-ca-file="+c.credentials.authority.CertFile,
		"--cert-file="+c.credentials.serving.CertFile,
		"--key-file="+c.credentials.serving.KeyFile,
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file="+c.credentials.authority.CertFile,
		"--peer-cert-file="+c.credentials.serving.CertFile,
		"--peer-key-file="+c.credentials.serving.KeyFile,
		// Nobody's data depends on a cluster that is made to try things: waiting for the disk would only cost time.
		"--unsafe-no-fsync",
		"--auto-compaction-retention=5m",
	)
}

func (c *controlPlane) apiServer() process.Spec {
	return c.spec(binaries.KubeAPIServer,
		"--bind-address="+loopback,
		"--advertise-address="+loopback,
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", c.ports.apiServer),
		"--tls-cert-file="+c.credentials.serving.CertFile,
		"--tls-private-key-file="+c.credentials.serving.KeyFile,
		"--client-ca-file="+c.credentials.authority.CertFile,
		"--etcd-servers=https://"+address(c.ports.etcd),
		"--etcd-cafile="+c.credentials.authority.CertFile,
		"--etcd-certfile="+c.credentials.etcdClient.CertFile,
		"--etcd-keyfile="+c.credentials.etcdClient.KeyFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file="+c.credentials.serviceAccount,
		"--service-account-signing-key-file="+c.credentials.serviceAccount,
		"--service-cluster-ip-range="+serviceRange,
		"--allow-privileged",
	)
}

func (c *controlPlane) controllerManager() process.Spec {
	return c.spec(binaries.KubeControllerManager,
		"--kubeconfig="+c.layout.config(controllerManagerUser),
		"--bind-address="+loopback,
		fmt.Sprintf("--secure-port=%d", c.ports.controllerManager),
		"--tls-cert-file="+c.credentials.serving.CertFile,
		"--tls-private-key-file="+c.credentials.serving.KeyFile,
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.credentials.serviceAccount,
		"--root-ca-file="+c.credentials.authority.CertFile,
		"--cluster-signing-cert-file="+c.credentials.authority.CertFile,
		"--cluster-signing-key-file="+c.credentials.authority.KeyFile,
		"--service-cluster-ip-range="+serviceRange,
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (c *controlPlane) scheduler() process.Spec {
	return c.spec(binaries.KubeScheduler,
		"--kubeconfig="+c.layout.config(schedulerUser),
		"--bind-address="+loopback,
		fmt.Sprintf("--secure-port=%d", c.ports.scheduler),
		"--tls-cert-file="+c.credentials.serving.CertFile,
		"--tls-private-key-file="+c.credentials.serving.KeyFile,
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (c *controlPlane) kwok() process.Spec {
	return c.spec(binaries.Kwok,
		"--kubeconfig="+c.layout.config(kwokUser),
		"--config="+c.layout.simulation(),
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector="+simulatedNodeAnnotation+"=fake",
		"--cidr="+podRange,
		"--node-ip="+nodeIP,
		"--node-lease-duration-seconds=40",
		"--server-address="+address(c.ports.kwok),
	)
}

// writeStages writes the behaviour of the simulated kubelets where kwok reads it.
func writeStages(l layout) error {
	err := os.WriteFile(l.simulation(), simulation.Stages, 0o600)
	if err != nil {
		return fmt.Errorf("write kwok's stages: %w", err)
	}
	return nil
}
