// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

const loopback = "127.0.0.1"

// Ports are taken in blocks below the range that systems take the ports of outgoing connections from: a process of the
// cluster binds its port only seconds after it was picked, and a connection must not have got it meanwhile.
const (
	firstPort = 20000
	lastPort  = 29999
	blockSize = 10
)

// ports are the loopback ports of one run.
type ports struct {
	etcd, etcdPeer, apiServer, controllerManager, scheduler, kwok, helmController, sourceController, sourceFiles int
	// guard holds the block's first port for the whole run, so that another cluster takes another block.
	guard net.Listener
}

// pickPorts finds a block whose ports are all free.
func pickPorts(ctx context.Context) (ports, error) {
	const blocks = (lastPort - firstPort + 1) / blockSize
	offset := rand.IntN(blocks) // #nosec G404 -- only spreads the clusters.
	for i := range blocks {
		picked, err := pickBlock(ctx, firstPort+(offset+i)%blocks*blockSize)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		return picked, err
	}
	return ports{}, fmt.Errorf("find free ports: none of the blocks from %d to %d is free", firstPort, lastPort)
}

// pickBlock takes the block, or fails with EADDRINUSE when one of its ports is in use.
func pickBlock(ctx context.Context, first int) (_ ports, err error) {
	guard, err := listen(ctx, address(first))
	if err != nil {
		return ports{}, fmt.Errorf("find free ports: %w", err)
	}
	picked := ports{guard: guard}
	targets := []*int{
		&picked.etcd, &picked.etcdPeer, &picked.apiServer, &picked.controllerManager, &picked.scheduler, &picked.kwok,
		&picked.helmController, &picked.sourceController, &picked.sourceFiles,
	}
	for i, target := range targets {
		*target = first + 1 + i
		listener, err := listen(ctx, address(*target))
		if err == nil {
			err = listener.Close()
		}
		if err != nil {
			return ports{}, errors.Join(fmt.Errorf("find free ports: %w", err), guard.Close())
		}
	}
	return picked, nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", address)
}

func address(port int) string { return fmt.Sprintf("%s:%d", loopback, port) }
