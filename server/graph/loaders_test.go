// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// reportObjects tells of StyrminDeployments that were applied by hand, each with
// pods of its own.
func (a *api) reportObjects(session string, n, podsOfEach int) {
	a.Helper()
	objects, namespaces := make([]any, n), make([]any, n)
	for i := range n {
		name := fmt.Sprintf("d%03d", i)
		objects[i] = map[string]any{
			"uid": name, "namespace": "styrmin", "name": name, "deploymentId": name, "instanceId": "i", "generation": 1,
			"targetNamespace": "ns-" + name, "phase": "Ready", "displayState": "Running", "conditions": []any{},
		}
		pods := make([]any, podsOfEach)
		for j := range pods {
			pods[j] = podInput(fmt.Sprintf("%s-%d", name, j), nil)
		}
		namespaces[i] = map[string]any{"namespace": "ns-" + name, "digest": "x", "pods": pods}
	}
	header := reportVariables(session, 1)["report"]
	a.data(server.RoleAgent, reportPods, map[string]any{"report": header, "namespaces": namespaces})
	a.data(server.RoleAgent, `mutation ($report: ReportHeader!, $objects: [DeploymentStatusInput!]) {
		reportDeploymentStatuses(report: $report, deployments: $objects) { applied } }`, map[string]any{"report": header, "objects": objects})
}

// TestManyDeploymentsAreReadAtOnce counts what the database is asked for one
// answer: it does not grow with the number of deployments.
func TestManyDeploymentsAreReadAtOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		a := newAPI(t, url, Options{})
		a.reportObjects(a.session(server.RoleAgent), 40, 2)
		var mu sync.Mutex
		asked := map[string]int{}
		observed, err := store.Open(t.Context(), url, store.Options{Now: a.clock.Now, Observe: func(useCase string, _ time.Duration, _ error) {
			mu.Lock()
			defer mu.Unlock()
			asked[useCase]++
		}})
		a.must(err)
		defer func() { a.must(observed.Close()) }()
		a.resolver.Store = observed
		got := a.data(server.RoleViewer, `{ deployments { id observed { phase } pods { name } instance { id } tasks(first: 2) { id } } }`, nil)
		deployments := got["deployments"].([]any)
		a.want("the deployments", 40, len(deployments))
		a.want("the last one", map[string]any{
			"id": "d039", "observed": map[string]any{"phase": "Ready"}, "instance": nil, "tasks": []any{},
			"pods": []any{map[string]any{"name": "d039-0"}, map[string]any{"name": "d039-1"}},
		}, deployments[39])
		mu.Lock()
		defer mu.Unlock()
		for useCase, times := range maps.All(asked) {
			// A batch that waits no longer may be read in several parts on a busy machine.
			if times >= 40 {
				t.Errorf("the database was asked %d times: %s", times, useCase)
			}
		}
	})
}

func TestR15NothingIsCutSilently(t *testing.T) {
	a := newAPI(t, storetest.SQLite(t), Options{})
	a.reportObjects(a.session(server.RoleAgent), 2, 10_001)
	got := a.call(server.RoleViewer, `{ deployments { pods { name } } }`, nil)
	a.want("the code", "TOO_LARGE", got.code())
	a.want("the message", "the deployments have more than 20000 pods: read them by podStatuses, page by page", got.Errors[0].Message)
	one := a.data(server.RoleViewer, `{ deployment(id: "d001") { pods { name } } }`, nil)["deployment"].(map[string]any)
	a.want("the pods of one deployment", 10_001, len(one["pods"].([]any)))
}
