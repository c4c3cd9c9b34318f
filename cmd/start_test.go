// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// fakeManager starts what was added once its caches sync, if they do, and ends
// with its context or never.
type fakeManager struct {
	added  manager.Runnable
	syncs  bool
	hangs  bool
	failed error
}

func (m *fakeManager) Add(r manager.Runnable) error {
	m.added = r
	return nil
}

func (m *fakeManager) Start(ctx context.Context) error {
	if m.failed != nil {
		return m.failed
	}
	if m.syncs {
		if err := m.added.Start(ctx); err != nil {
			return err
		}
	}
	if m.hangs {
		ctx = context.WithoutCancel(ctx)
	}
	<-ctx.Done()
	return nil
}

func TestCaseH02CachesThatNeverSyncEndTheProcess(t *testing.T) {
	broken := errors.New("no port")
	for sentence, test := range map[string]struct {
		manager   *fakeManager
		cancelled bool
		sync      time.Duration
		wantErr   string
	}{
		"they do not sync":                             {manager: &fakeManager{hangs: true}, sync: time.Millisecond, wantErr: "the caches have not synced within 1ms"},
		"they do not sync and the process is to end":   {manager: &fakeManager{hangs: true}, sync: time.Hour, cancelled: true},
		"they have synced and the process is to end":   {manager: &fakeManager{syncs: true}, sync: time.Hour, cancelled: true},
		"the manager ends with an error before theirs": {manager: &fakeManager{failed: broken}, sync: time.Hour, wantErr: "no port"},
	} {
		t.Run(sentence, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.cancelled {
				cancel()
			}
			err := startManager(ctx, test.manager, test.sync, time.Millisecond)
			if (err == nil) != (test.wantErr == "") || (err != nil && !strings.Contains(err.Error(), test.wantErr)) {
				t.Errorf("got %v, want %q", err, test.wantErr)
			}
		})
	}
}
