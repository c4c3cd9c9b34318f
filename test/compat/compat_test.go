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
					t.Errorf("they do not work with each other:\n%s", strings.Join(got, "\n"))
				}
			})
		}
	}
}

// What the tests below change as a careless developer would.
const (
	contract = `
		type Query { pods(filter: Filter!): [Pod!]! }
		type Pod { name: String! phase: String condition: Condition! restarts: Long owner: Owner }
		type Owner { name: String! }
		enum Condition { UP DOWN }
		scalar Long
		input Filter { namespace: String! kind: Kind limit: Int tags: [Tag!] }
		input Tag { key: ID! }
		enum Kind { JOB SERVICE }`
	operations = `query Pods($filter: Filter!) { pods(filter: $filter) { name phase condition restarts ...owned } }
		fragment owned on Pod { owner { name } }`
)

// change is a contract of another server or of another client, "" for the same.
type change struct {
	server, client string
	want           []string
}

func (c change) run(t *testing.T) {
	t.Helper()
	server, client := contract, contract
	if c.server != "" {
		server = c.server
	}
	if c.client != "" {
		client = c.client
	}
	got, err := misunderstandings(parse(t, server), parse(t, client), operations)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		t.Errorf("misunderstandings (-want +got):\n%s", diff)
	}
}

func TestMisunderstoodQuestions(t *testing.T) {
	for sentence, test := range map[string]change{
		"nothing changed": {},
		"the server has more to tell": {
			server: strings.Replace(contract, "phase: String", "phase: String node: String", 1),
		},
		"the server takes more, which may be left out": {
			server: strings.Replace(contract, "limit: Int", "limit: Long after: String last: Boolean! = true", 1),
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
		t.Run(sentence, test.run)
	}
}

func TestMisunderstoodAnswers(t *testing.T) {
	for sentence, test := range map[string]change{
		"the server may leave out what the client counts on": {
			server: strings.Replace(contract, "condition: Condition!", "condition: Condition", 1),
			want:   []string{"the client wants Pod.condition as Condition!, the server answers Condition"},
		},
		"the server always tells what the client can do without": {
			server: strings.Replace(contract, "phase: String", "phase: String!", 1),
		},
		"the server may leave out what a fragment counts on": {
			server: strings.Replace(contract, "Owner { name: String! }", "Owner { name: String }", 1),
			want:   []string{"the client wants Owner.name as String!, the server answers String"},
		},
		"the server tells many where it told one": {
			server: strings.Replace(contract, "phase: String", "phase: [String]", 1),
			want:   []string{"the client wants Pod.phase as String, the server answers [String]"},
		},
		"the server tells larger numbers": {
			client: strings.Replace(contract, "restarts: Long", "restarts: Int", 1),
			want:   []string{"the client wants Pod.restarts as Int, the server answers Long"},
		},
		"the server tells smaller numbers": {
			server: strings.Replace(contract, "restarts: Long", "restarts: Int", 1),
		},
		"the server tells a value that is new": {
			server: strings.Replace(contract, "UP DOWN", "UP DOWN LOST", 1),
			want:   []string{"the client does not know the value LOST of Condition"},
		},
	} {
		t.Run(sentence, test.run)
	}
}
