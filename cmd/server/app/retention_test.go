// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// TestOldRowsAreRemovedWithEachTick: a deployment that was deleted long ago goes
// with the tick after, and a failure ends nothing.
func TestOldRowsAreRemovedWithEachTick(t *testing.T) {
	clock := storetest.NewClock()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "x.db"), store.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	cluster, _, err := db.CreateCluster(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	session, err := db.OpenSession(t.Context(), server.Identity{Role: server.RoleAdmin}, server.OpenSession{ClusterID: cluster.ID, ClusterUID: "u"})
	if err != nil {
		t.Fatal(err)
	}
	for sequence, objects := range [][]server.DeploymentStatus{{{UID: "u", Namespace: "n", Name: "shop", DeploymentID: "shop"}}, {}} {
		_, err := db.ApplyDeploymentReport(t.Context(), server.Identity{Role: server.RoleAdmin}, server.DeploymentReport{
			Header: server.ReportHeader{SessionID: session.ID, Sequence: int64(sequence), Complete: true}, Deployments: objects,
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	lines := make(chan string, 10)
	log := funcr.New(func(_, args string) { lines <- args }, funcr.Options{})
	tick := make(chan time.Time)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		keepPruned(ctx, db, log, tick)
	}()
	tick <- clock.Now() // taken once the first run found nothing
	clock.Advance((store.DeletedDays + 1) * 24 * time.Hour)
	tick <- clock.Now()
	if line := <-lines; !strings.Contains(line, `"msg"="Removed what is old" "deployments"=1`) {
		t.Errorf("the log says %s", line)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	tick <- clock.Now()
	if line := <-lines; !strings.Contains(line, "Failed to remove what is old") {
		t.Errorf("the log says %s", line)
	}
	cancel()
	<-ended
}
