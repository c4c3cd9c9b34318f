// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// released is the folder with the contract and the operations of the version
// before: make release-contract renews it when a version is released.
const released = "testdata/released"

// clients are who calls the server.
var clients = []string{"reporter", "worker", "sdk"}

func read(t *testing.T, elements ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func parse(t *testing.T, contract string) *ast.Schema {
	t.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: contract})
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestClientsOneVersionApartWork: servers are upgraded before agents, and rolled
// back after them, so each has to understand the other's contract.
func TestClientsOneVersionApartWork(t *testing.T) {
	older, newer := parse(t, read(t, released, "schema.graphqls")), parse(t, read(t, "../../api/graphql/schema.graphqls"))
	for _, client := range clients {
		for sentence, test := range map[string]struct {
			server, client *ast.Schema
			operations     string
		}{
			"older than the server": {newer, older, read(t, released, client+".graphql")},
			"newer than the server": {older, newer, read(t, "../..", client, "operations.graphql")},
		} {
			t.Run(client+" "+sentence, func(t *testing.T) {
				got, err := misunderstandings(test.server, test.client, test.operations)
				if err != nil {
					t.Fatal(err)
				}
				if len(got) > 0 {
					t.Errorf("the server refuses:\n%s", strings.Join(got, "\n"))
				}
			})
		}
	}
}

// TestMisunderstandings edits a small contract as a careless change would.
func TestMisunderstandings(t *testing.T) {
	const (
		contract = `
			type Query { pods(filter: Filter!): [Pod!]! }
			type Pod { name: String! phase: String }
			input Filter { namespace: String! kind: Kind limit: Int tags: [Tag!] }
			input Tag { key: ID! }
			enum Kind { JOB SERVICE }`
		operations = `query Pods($filter: Filter!) { pods(filter: $filter) { name phase } }`
	)
	for sentence, test := range map[string]struct {
		server, client string
		want           []string
	}{
		"nothing changed": {},
		"the server has more to tell": {
			server: strings.Replace(contract, "phase: String", "phase: String node: String", 1),
		},
		"the server takes more, which may be left out": {
			server: strings.Replace(contract, "limit: Int", "limit: Long after: String last: Boolean! = true", 1) + " scalar Long",
		},
		"the server no longer tells a field": {
			server: strings.Replace(contract, "phase: String", "", 1),
			want:   []string{`Cannot query field "phase" on type "Pod". Did you mean "name"?`},
		},
		"the server needs what the client does not send": {
			server: strings.Replace(contract, "limit: Int", "limit: Int cluster: ID!", 1),
			want:   []string{"the server needs Filter.cluster, which the client does not send"},
		},
		"the server needs what the client may leave out": {
			server: strings.Replace(contract, "limit: Int", "limit: Int!", 1),
			want:   []string{"the server wants Filter.limit as Int!, the client sends Int"},
		},
		"the client sends a field that is new": {
			client: strings.Replace(contract, "key: ID!", "key: ID! value: String", 1),
			want:   []string{"the server does not know Tag.value"},
		},
		"the client sends a value that is new": {
			client: strings.Replace(contract, "SERVICE", "SERVICE VOLUME", 1),
			want:   []string{"the server does not know the value VOLUME of Kind"},
		},
		"the client sends one of what was a list": {
			client: strings.Replace(contract, "[Tag!]", "Tag", 1),
			want:   []string{"the server wants Filter.tags as [Tag!], the client sends Tag"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			server, client := contract, contract
			if test.server != "" {
				server = test.server
			}
			if test.client != "" {
				client = test.client
			}
			got, err := misunderstandings(parse(t, server), parse(t, client), operations)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("misunderstandings (-want +got):\n%s", diff)
			}
		})
	}
}
