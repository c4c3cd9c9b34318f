// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver by which all tables are read
	_ "modernc.org/sqlite"             // the driver by which all tables are read
)

// Dump returns all rows of all tables by the table's name, so that a test can
// tell whether anything at all has changed.
func Dump(t testing.TB, url string) map[string][]string {
	t.Helper()
	driver, source := "pgx", url
	tables := "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
	if path, isSQLite := strings.CutPrefix(url, "sqlite:"); isSQLite {
		driver, source, tables = "sqlite", path, "SELECT name FROM sqlite_master WHERE type = 'table'"
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	dump := map[string][]string{}
	for _, table := range query(t, db, tables) {
		dump[table] = query(t, db, `SELECT * FROM "`+table+`"`)
		slices.Sort(dump[table])
	}
	return dump
}

// query returns the rows as text.
func query(t testing.TB, db *sql.DB, statement string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, value := range values {
			if text, isText := value.([]byte); isText {
				value = string(text)
			}
			texts[i] = fmt.Sprint(value)
		}
		found = append(found, strings.Join(texts, " | "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
