// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"
	"fmt"
)

// StartServerOnly starts the server alone, on a port that it picks itself, and
// makes a cluster's entry on it: for tests that bring their own cluster and
// agents. Of the options it reads Dir and Server.
func StartServerOnly(ctx context.Context, opts Options) (*System, error) {
	s, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	err = s.startServer(ctx, "--listen", "127.0.0.1:0", "--metrics-listen", "")
	if err == nil {
		err = s.registerCluster(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// StartAgent starts a manager program beside this system with these flags. Its
// log, under that name, is in the folder of the others. Whoever starts it ends
// it.
func (s *System) StartAgent(name, program string, flags ...string) (*Process, error) {
	agent, err := startProcess(name, s.logDir(), nil, nil, program, flags...)
	if err != nil {
		return nil, fmt.Errorf("starting an agent: %w", err)
	}
	return agent, nil
}
