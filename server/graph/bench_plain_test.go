// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/styrmin/styrmin/server/store/storetest"
)

// BenchmarkPlain is the baseline of the reports: a server without digests and
// fingerprints, which reads the whole report and replaces all rows each time, in
// one transaction, with the pod kept as its JSON.
func BenchmarkPlain(b *testing.B) {
	for name, open := range map[string]func(testing.TB) (string, string){
		"SQLite": func(t testing.TB) (string, string) {
			return "sqlite", strings.TrimPrefix(storetest.SQLite(t), "sqlite:")
		},
		"PostgreSQL": func(t testing.TB) (string, string) { return "pgx", storetest.Postgres(t) },
	} {
		b.Run(name, func(b *testing.B) {
			driver, source := open(b)
			db, err := sql.Open(driver, source)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			_, err = db.ExecContext(b.Context(), "CREATE TABLE plain (namespace TEXT, name TEXT, pod TEXT, PRIMARY KEY (namespace, name))")
			if err != nil {
				b.Fatal(err)
			}
			state := 0
			var cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				state++
				body, err := json.Marshal(benchReport(state, full))
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				before := cpuTime()
				if err := replaceAll(b.Context(), db, body); err != nil {
					b.Fatal(err)
				}
				cpu += cpuTime() - before
			}
			b.ReportMetric(milliseconds(cpu)/float64(b.N), "cpu-ms/op")
			b.ReportMetric(2*benchNamespaces*benchPods, "rows/op")
		})
	}
}

func replaceAll(ctx context.Context, db *sql.DB, body []byte) error {
	var namespaces []struct {
		Namespace string
		Pods      []json.RawMessage
	}
	if err := json.Unmarshal(body, &namespaces); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit it does nothing
	if _, err := tx.ExecContext(ctx, "DELETE FROM plain"); err != nil {
		return err
	}
	for _, namespace := range namespaces {
		var values strings.Builder
		arguments := make([]any, 0, 3*len(namespace.Pods))
		for i, pod := range namespace.Pods {
			var named struct{ Name string }
			if err := json.Unmarshal(pod, &named); err != nil {
				return err
			}
			if i > 0 {
				values.WriteByte(',')
			}
			fmt.Fprintf(&values, "($%d,$%d,$%d)", 3*i+1, 3*i+2, 3*i+3)
			arguments = append(arguments, namespace.Namespace, named.Name, string(pod))
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO plain VALUES "+values.String(), arguments...); err != nil {
			return err
		}
	}
	return tx.Commit()
}
