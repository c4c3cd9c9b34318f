// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// migrations returns what brings the database of a URL to a version.
func migrations(t *testing.T, url string) *goose.Provider {
	t.Helper()
	driver, source, dialect, dir := "pgx", url, goose.DialectPostgres, "postgres"
	if path, isSQLite := strings.CutPrefix(url, "sqlite:"); isSQLite {
		driver, source, dialect, dir = "sqlite", path+"?_pragma=foreign_keys(1)", goose.DialectSQLite3, "sqlite"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	provider, err := goose.NewProvider(dialect, db, os.DirFS(filepath.Join("migrations", dir)), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// known is what a server of the first schema could tell.
type known struct {
	Pods        []server.PodStatus
	Statuses    []server.DeploymentStatus
	Deployments []server.Deployment
	Clusters    []server.Cluster
}

func tell(t *testing.T, s *store.Store) known {
	t.Helper()
	var k known
	var err error
	page := store.Page{First: store.MaxPage}
	for _, read := range []func() error{
		func() error { k.Pods, err = s.PodStatuses(t.Context(), store.PodStatusFilter{}, page); return err },
		func() error {
			k.Statuses, err = s.DeploymentStatuses(t.Context(), store.DeploymentStatusFilter{}, page)
			return err
		},
		func() error { k.Deployments, err = s.Deployments(t.Context(), store.DeploymentFilter{}); return err },
		func() error { k.Clusters, err = s.Clusters(t.Context()); return err },
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.Pods) == 0 || len(k.Statuses) == 0 || len(k.Deployments) == 0 || len(k.Clusters) == 0 {
		t.Fatalf("something is missing: %+v", k)
	}
	return k
}

// TestADatabaseOfTheFirstSchemaIsUpgraded: what a server of each earlier schema
// kept is there after the upgrade, and its agent goes on with its session and
// token.
func TestADatabaseOfTheFirstSchemaIsUpgraded(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		clock := storetest.NewClock()
		w := &world{T: t, store: storetest.Open(t, url, clock), clock: clock}
		cluster, secret, err := w.store.CreateCluster(t.Context(), "c1")
		w.must(err)
		w.cluster = cluster
		w.agent, err = w.store.Identify(t.Context(), secret)
		w.must(err)
		w.session = w.open("kube-c1", "agent-0")
		w.pods(whole("shop", "d1", pod("a"), pod("b")))
		w.deployments(object("shop"))
		want := tell(t, w.store)

		steps := migrations(t, url)
		newest, err := steps.GetDBVersion(t.Context())
		w.must(err)
		for version := newest - 1; version >= 1; version-- {
			if _, err := steps.DownTo(t.Context(), version); err != nil {
				t.Fatalf("going back to schema %d: %v", version, err)
			}
			upgraded := storetest.Open(t, url, clock)
			if diff := cmp.Diff(want, tell(t, upgraded)); diff != "" {
				t.Errorf("after an upgrade from schema %d (-before +after):\n%s", version, diff)
			}
			w.store = upgraded
		}
		agent, err := w.store.Identify(t.Context(), secret)
		w.must(err)
		w.want("the token's identity", w.agent, agent)
		if result := w.pods(whole("shop", "d2", pod("a"))); !result.Applied {
			t.Errorf("the session's next report was not applied: %+v", result)
		}
	})
}
