// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
)

const loopback = "127.0.0.1"

// ports are the loopback ports of one run.
type ports struct {
	etcd, etcdPeer, apiServer, controllerManager, scheduler, kwok, helmController, sourceController, sourceFiles int
}

// freePorts picks ports that are free now. All of them are held until the last one is picked, so they differ.
func freePorts(ctx context.Context) (_ ports, err error) {
	var picked ports
	targets := []*int{
		&picked.etcd, &picked.etcdPeer, &picked.apiServer, &picked.controllerManager, &picked.scheduler, &picked.kwok,
		&picked.helmController, &picked.sourceController, &picked.sourceFiles,
	}
	for _, target := range targets {
		listener, listenErr := listen(ctx, loopback+":0")
		if listenErr != nil {
			return ports{}, fmt.Errorf("find a free port: %w", listenErr)
		}
		defer func() { err = errors.Join(err, listener.Close()) }()
		*target = listener.Addr().(*net.TCPAddr).Port
	}
	return picked, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", address)
}

func address(port int) string { return fmt.Sprintf("%s:%d", loopback, port) }
