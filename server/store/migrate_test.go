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
	"github.com/google/go-cmp/cmp/cmpopts"
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

// known is what a server could tell.
type known struct {
	Pods        []server.PodStatus
	Statuses    []server.DeploymentStatus
	Deployments []server.Deployment
	Clusters    []server.Cluster
	Tokens      []server.Token
	Tasks       map[string]*store.DeploymentTasks
	Instances   map[string]*server.Instance
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
		func() error { k.Tokens, err = s.Tokens(t.Context()); return err },
		func() error { k.Tasks, err = s.TasksOf(t.Context(), k.Deployments, store.MaxPage); return err },
		func() error {
			var written []string
			for _, deployment := range k.Deployments {
				if deployment.WrittenInstanceID != nil {
					written = append(written, *deployment.WrittenInstanceID)
				}
			}
			k.Instances, err = s.WrittenInstances(t.Context(), written)
			return err
		},
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// unknownTo leaves out of a comparison what a server of the schema did not keep.
func unknownTo(version int64) cmp.Options {
	var left cmp.Options
	for _, since := range []struct {
		version int64
		added   cmp.Option
	}{
		{2, cmpopts.IgnoreFields(known{}, "Tasks", "Instances")},
		{3, cmpopts.IgnoreFields(server.Deployment{}, "TargetNamespace")},
		{8, cmpopts.IgnoreFields(server.Task{}, "ClaimSeconds")},
	} {
		if version < since.version {
			left = append(left, since.added)
		}
	}
	return left
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
		_, _, err = w.store.CreateToken(t.Context(), "who looks", server.RoleViewer)
		w.must(err)
		task := w.create("blog")
		w.want("the claim", task.ID, w.claim("worker"))
		instance := w.writeOf("worker", task.ID)
		want := tell(t, w.store)
		w.want("how many of each are known", []int{2, 1, 2, 1, 1, 1, 1}, []int{
			len(want.Pods), len(want.Statuses), len(want.Deployments), len(want.Clusters), len(want.Tokens),
			len(want.Tasks[instance.DeploymentID].Tasks), len(want.Instances),
		})

		steps := migrations(t, url)
		newest, err := steps.GetDBVersion(t.Context())
		w.must(err)
		for version := newest - 1; version >= 1; version-- {
			if _, err := steps.DownTo(t.Context(), version); err != nil {
				t.Fatalf("going back to schema %d: %v", version, err)
			}
			upgraded := storetest.Open(t, url, clock)
			if diff := cmp.Diff(want, tell(t, upgraded), unknownTo(version)); diff != "" {
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
