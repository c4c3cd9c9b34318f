// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// StartServerOnly starts the server alone, on a port that it picks itself, and
// makes a cluster's entry on it: for tests that bring their own cluster and
// agents. Of the options it reads Dir and Server.
func StartServerOnly(ctx context.Context, opts Options) (*System, error) {
	s, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	s.server, err = startProcess("server", s.logDir(), nil, nil, opts.Server,
		"--listen", "127.0.0.1:0",
		"--metrics-listen", "",
		"--database", "sqlite:"+filepath.Join(opts.Dir, "styrmin.db"),
		"--admin-token-file", s.AdminTokenFile)
	if err != nil {
		return nil, err
	}
	err = s.server.waitUntil(ctx, func(context.Context) (err error) {
		s.ServerURL, err = servedAddress(s.server.log)
		return err
	})
	if err == nil {
		err = s.registerCluster(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// servedAddress finds in the server's log where it serves.
func servedAddress(log string) (string, error) {
	content, err := os.ReadFile(filepath.Clean(log))
	if err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		var line struct{ Msg, Address string }
		// A line that is not whole yet is none.
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "Serving" {
			return "http://" + line.Address, nil
		}
	}
	return "", errors.New("it does not serve yet")
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
