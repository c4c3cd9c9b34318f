// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// layout names what a cluster keeps in its folder.
type layout struct{ dir string }

func (l layout) etcdData() string          { return filepath.Join(l.dir, "etcd") }
func (l layout) pki() string               { return filepath.Join(l.dir, "pki") }
func (l layout) logs() string              { return filepath.Join(l.dir, "logs") }
func (l layout) log(name string) string    { return filepath.Join(l.logs(), name+".log") }
func (l layout) kubeconfig() string        { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) credentials() string       { return filepath.Join(l.dir, "credentials") }
func (l layout) config(name string) string { return filepath.Join(l.credentials(), name+".kubeconfig") }
func (l layout) simulation() string        { return filepath.Join(l.dir, "kwok.yaml") }
func (l layout) sources() string           { return filepath.Join(l.dir, "sources") }
func (l layout) lock() string              { return filepath.Join(l.dir, "localcluster.lock") }

// errRunning says that another process runs the cluster of a folder.
var errRunning = errors.New("a cluster runs in this folder; end it first")

// claim makes the cluster's folders and locks them for this process; the lock ends with the process.
func claim(dir string) (layout, func(), error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, nil, fmt.Errorf("find the cluster's folder: %w", err)
	}
	l := layout{dir: absolute}
	for _, folder := range []string{l.dir, l.logs(), l.credentials(), l.sources()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return layout{}, nil, fmt.Errorf("make the cluster's folder: %w", err)
		}
	}
	lock := flock.New(l.lock())
	locked, err := lock.TryLock()
	if err != nil {
		return layout{}, nil, fmt.Errorf("lock the cluster's folder: %w", err)
	}
	if !locked {
		return layout{}, nil, fmt.Errorf("%s: %w", l.dir, errRunning)
	}
	return l, func() { _ = lock.Unlock() }, nil
}

// Clean removes the state of a stopped cluster. It touches only folders that Up has made.
func Clean(dir string) error {
	l := layout{dir: dir}
	if _, err := os.Stat(l.lock()); errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("%s holds no local cluster", dir)
	}
	l, unlock, err := claim(dir)
	if err != nil {
		return err
	}
	defer unlock()
	owned := []string{l.etcdData(), l.pki(), l.logs(), l.credentials(), l.sources(), l.kubeconfig(), l.simulation(), l.lock()}
	for _, path := range owned {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove the cluster's state: %w", err)
		}
	}
	// Files of others may be there too: they stay, and so does the folder then.
	_ = os.Remove(l.dir)
	return nil
}
