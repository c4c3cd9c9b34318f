// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"os"
	"regexp"
	"testing"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// documented is a block of docs/graphql.md: the token that it is sent with, the
// name of the operation, and the operation itself.
var documented = regexp.MustCompile("(?s)```graphql\n# token: ([a-z]+)\n((?:query|mutation) ([A-Za-z]+).*?)```")

// TestTheRequestsOfTheDocumentationWork sends them in the order of the page, each
// with the ids that the earlier ones answered.
func TestTheRequestsOfTheDocumentationWork(t *testing.T) {
	page, err := os.ReadFile("../../docs/graphql.md")
	if err != nil {
		t.Fatal(err)
	}
	a := newAPI(t, storetest.SQLite(t), Options{})
	roles := map[string]server.Role{"admin": server.RoleAdmin, "viewer": server.RoleViewer, "agent": server.RoleAgent}
	// What the page reads before a script has made it is made here.
	earlier, err := a.resolver.Store.CreateDeployment(t.Context(), server.Identity{Role: server.RoleAdmin}, server.NewDeployment{
		Name: "blog", ClusterID: a.cluster.ID, Environment: "prod",
		Spec: []byte(`{"helmRelease": {"releaseName": "blog", "chart": {"repository": "oci://charts.example.com", "name": "blog", "version": "1"}}}`),
	}, nil)
	a.must(err)
	variables := map[string]any{"deployment": earlier.DeploymentID}
	remember := map[string]func(data map[string]any){
		"CreateCluster": func(data map[string]any) {
			created := data["createCluster"].(map[string]any)
			a.tokens[server.RoleAgent] = created["agentToken"].(string)
			variables["cluster"] = created["cluster"].(map[string]any)["id"]
		},
		"CreateToken": func(data map[string]any) {
			a.tokens[server.RoleViewer] = data["createToken"].(map[string]any)["secret"].(string)
		},
		"Create": func(data map[string]any) {
			task := data["createDeployment"].(map[string]any)
			variables["task"], variables["deployment"] = task["id"], task["deploymentId"]
		},
		"Claim": func(data map[string]any) {
			task := data["claimTask"].(map[string]any)["task"].(map[string]any)
			a.want("the claimed task", variables["task"], task["id"])
			variables["step"] = task["steps"].([]any)[0].(map[string]any)["id"]
		},
		"Finish": func(data map[string]any) {
			a.want("the end", map[string]any{"status": "SUCCESS", "result": "RUNNING"}, data["finishTask"])
		},
	}
	blocks := documented.FindAllStringSubmatch(string(page), -1)
	if all := regexp.MustCompile("```graphql").FindAllString(string(page), -1); len(blocks) != len(all) || len(blocks) == 0 {
		t.Fatalf("%d of the page's %d requests can be read", len(blocks), len(all))
	}
	for _, block := range blocks {
		data := a.data(roles[block[1]], block[2], variables)
		if learn := remember[block[3]]; learn != nil {
			learn(data)
		}
	}
}
