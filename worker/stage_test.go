// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// within is how long a test waits for what must come.
const within = 60 * time.Second

// stage is a deployment and what is around it: a user who changes it, an operator
// that carries out what is written and reports it, and workers.
type stage struct {
	*testing.T
	cluster     client.WithWatch
	clusterID   string
	tokenFile   string
	environment string
	deployment  string

	mu sync.Mutex
	// operatorHolds keeps the operator from working; failure has it fail.
	operatorHolds bool
	failure       string
	session       string
	sequence      int
}

func newStage(t *testing.T) *stage {
	t.Helper()
	startSuite(t)
	s := &stage{T: t, cluster: cluster(t, suite.config)}
	created := s.ask(suite.server.adminToken, `mutation ($n: String!) { createCluster(input: {name: $n}) { agentToken cluster { id } } }`,
		map[string]any{"n": "c" + unique()})["createCluster"].(map[string]any)
	s.clusterID = created["cluster"].(map[string]any)["id"].(string)
	s.tokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(s.tokenFile, []byte(created["agentToken"].(string)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.environment = "e" + unique()
	s.startOperator(created["agentToken"].(string))
	return s
}

var lastUnique struct {
	sync.Mutex
	n int
}

func unique() string {
	lastUnique.Lock()
	defer lastUnique.Unlock()
	lastUnique.n++
	return fmt.Sprint(lastUnique.n)
}

func (s *stage) key() client.ObjectKey {
	return client.ObjectKey{Namespace: "styrmin", Name: s.environment + "-shop"}
}

// shopSpec declares a shop with hooks around its upgrades.
func shopSpec(version string) map[string]any {
	return map[string]any{
		"version": version,
		"helmRelease": map[string]any{
			"releaseName": "shop", "chart": map[string]any{"repository": "oci://charts.example", "name": "shop", "version": version},
		},
		"components": []any{map[string]any{
			"name": "server", "replicas": 3, "replicasValue": "server.replicas",
			"selector": map[string]any{"matchLabels": map[string]any{"app": "server"}},
		}},
		"jobs": []any{map[string]any{"name": "migrate", "template": map[string]any{
			"backoffLimit": 0,
			"template": map[string]any{"spec": map[string]any{
				"restartPolicy": "Never",
				"containers":    []any{map[string]any{"name": "migrate", "image": "registry.example/migrate:1"}},
			}},
		}}},
		"hooks": map[string]any{"upgrade": map[string]any{
			"pre":  []any{map[string]any{"stopComponents": []any{"server"}}},
			"post": []any{map[string]any{"startComponents": []any{"server"}}},
		}},
	}
}

// create asks for the shop and returns the task.
func (s *stage) create(spec map[string]any) string {
	s.Helper()
	task, deployment := s.createNamed("shop", spec)
	s.deployment = deployment
	return task
}

// createNamed asks for another deployment beside the shop.
func (s *stage) createNamed(name string, spec map[string]any) (task, deployment string) {
	s.Helper()
	made := s.asUser(`mutation ($n: String!, $c: ID!, $e: String!, $s: JSON!) {
		do: createDeployment(input: {name: $n, clusterId: $c, environment: $e, spec: $s}) { id deploymentId } }`,
		map[string]any{"n": name, "c": s.clusterID, "e": s.environment, "s": spec})
	return made["id"].(string), made["deploymentId"].(string)
}

// running creates the shop and waits until it runs.
func (s *stage) running(spec map[string]any) {
	s.Helper()
	s.wantResult(s.create(spec), "SUCCEEDED", "")
	s.wantStatus("RUNNING")
}

// change asks for a change of the shop and returns the task.
func (s *stage) change(call string) string {
	s.Helper()
	task := s.asUser(`mutation ($d: ID!) { do: `+call+` { id } }`, map[string]any{"d": s.deployment})
	return task["id"].(string)
}

func (s *stage) upgrade(version string) string {
	s.Helper()
	return s.change(fmt.Sprintf("updateDeploymentVersion(id: $d, version: %q)", version))
}

func (s *stage) asUser(call string, variables map[string]any) map[string]any {
	s.Helper()
	return s.ask(suite.server.adminToken, call, variables)["do"].(map[string]any)
}

// taskView is a task as the user reads it.
type taskView struct {
	ID            string
	Status        string
	Result        string
	FailureReason string
	Message       string
	Steps         []struct {
		Name, Kind, Status, Error string
		Tasks                     []taskView
	}
}

func (s *stage) task(id string) taskView {
	s.Helper()
	const fields = `id status result failureReason message steps { name kind status error `
	data := s.ask(suite.server.adminToken, `query ($t: ID!) { task(id: $t) { `+fields+` tasks { `+fields+`} } } } }`, map[string]any{"t": id})
	var view taskView
	remarshal(s.T, data["task"], &view)
	return view
}

func remarshal(t *testing.T, from, into any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// result waits for the result of a task.
func (s *stage) result(id string) taskView {
	s.Helper()
	var view taskView
	s.eventually("task "+id+" has a result", func() error {
		if view = s.task(id); view.Result == "RUNNING" {
			return fmt.Errorf("%+v", view)
		}
		return nil
	})
	return view
}

// wantResult waits for the result of a task, which must be that.
func (s *stage) wantResult(id, result, reason string) taskView {
	s.Helper()
	view := s.result(id)
	if view.Result != result || !strings.Contains(view.FailureReason, reason) {
		s.Fatalf("result %s (%s), want %s (%s)", view.Result, view.FailureReason, result, reason)
	}
	return view
}

// status is the deployment's.
func (s *stage) status() string {
	s.Helper()
	status, err := s.read(s.Context(), `deployment(id: $id) { status }`, s.deployment)
	if err != nil {
		s.Fatal(err)
	}
	return status
}

func (s *stage) wantStatus(want string) {
	s.Helper()
	s.eventually("the deployment is "+want, func() error {
		if got := s.status(); got != want {
			return errors.New(got)
		}
		return nil
	})
}

// object reads the shop's StyrminDeployment, nil where there is none.
func (s *stage) object() *styrminv1.StyrminDeployment {
	s.Helper()
	object := &styrminv1.StyrminDeployment{}
	err := s.cluster.Get(s.Context(), s.key(), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return object
}

// eventually waits until check returns nil.
func (s *stage) eventually(what string, check func() error) {
	s.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("not after %s: %s: %v", within, what, err)
		}
		time.Sleep(40 * time.Millisecond)
	}
}

// ask sends one request, which must succeed.
func (s *stage) ask(token, query string, variables map[string]any) map[string]any {
	s.Helper()
	data, err := ask(s.Context(), token, query, variables)
	if err != nil {
		s.Fatal(err)
	}
	return data
}

func ask(ctx context.Context, token, query string, variables map[string]any) (map[string]any, error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, suite.server.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := struct {
		Data   map[string]any
		Errors []struct{ Message string }
	}{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, fmt.Errorf("%s: %v", query, answer.Errors)
	}
	return answer.Data, nil
}
