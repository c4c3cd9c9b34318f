// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Query sends one GraphQL request with the admin's token, as a script would,
// and reads data into answer.
func (s *System) Query(ctx context.Context, query string, variables map[string]any, answer any) error {
	token, err := os.ReadFile(s.AdminTokenFile)
	if err != nil {
		return fmt.Errorf("reading the admin token: %w", err)
	}
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return fmt.Errorf("writing the query: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.ServerURL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	response, err := s.httpClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking the server: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	result := struct {
		Data   json.RawMessage
		Errors []struct{ Message string }
	}{}
	if err := json.Unmarshal(text, &result); err != nil {
		return fmt.Errorf("the server answered %s: %.200s", response.Status, text)
	}
	var errs []error
	for _, e := range result.Errors {
		errs = append(errs, errors.New(e.Message))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return json.Unmarshal(result.Data, answer)
}

// registerCluster makes the cluster known to the server and keeps the agent's
// token, once; later starts find both.
func (s *System) registerCluster(ctx context.Context) error {
	clusters := struct{ Clusters []struct{ ID, Name string } }{}
	if err := s.Query(ctx, `{ clusters { id name } }`, nil, &clusters); err != nil {
		return fmt.Errorf("listing the server's clusters: %w", err)
	}
	if len(clusters.Clusters) > 0 {
		s.ClusterID = clusters.Clusters[0].ID
		if _, err := os.Stat(s.AgentTokenFile); err == nil {
			return nil
		}
	}
	mutation, variables := `mutation { payload: createCluster(input: {name: "local"}) { cluster { id } agentToken } }`, map[string]any(nil)
	if s.ClusterID != "" {
		mutation = `mutation($id: ID!) { payload: rotateAgentToken(clusterId: $id) { cluster { id } agentToken } }`
		variables = map[string]any{"id": s.ClusterID}
	}
	answer := struct {
		Payload struct {
			Cluster    struct{ ID string }
			AgentToken string
		}
	}{}
	if err := s.Query(ctx, mutation, variables, &answer); err != nil {
		return fmt.Errorf("getting an agent token from the server: %w", err)
	}
	s.ClusterID = answer.Payload.Cluster.ID
	if err := os.WriteFile(s.AgentTokenFile, []byte(answer.Payload.AgentToken+"\n"), 0o600); err != nil {
		return fmt.Errorf("keeping the agent's token: %w", err)
	}
	return nil
}

// Clock is the server's clock, which all its times are of.
func (s *System) Clock(ctx context.Context) (time.Time, error) {
	answer := struct{ Server struct{ Time time.Time } }{}
	err := s.Query(ctx, `{ server { time } }`, nil, &answer)
	return answer.Server.Time, err
}

// LastReport is when the server last received a complete report of the cluster;
// zero for never.
func (s *System) LastReport(ctx context.Context) (time.Time, error) {
	answer := struct {
		Cluster struct{ LastReportAt *time.Time }
	}{}
	err := s.Query(ctx, `query($id: ID!) { cluster(id: $id) { lastReportAt } }`, map[string]any{"id": s.ClusterID}, &answer)
	if err != nil || answer.Cluster.LastReportAt == nil {
		return time.Time{}, err
	}
	return *answer.Cluster.LastReportAt, nil
}

// Pod is a row of podStatuses.
type Pod struct {
	Namespace, Name, Status, Phase, Component string
	Ready                                     bool
	Restarts                                  int
	Containers                                []struct{ Name, Reason, Message string }
}

// Deployment is a row of deployments.
type Deployment struct {
	ID, Name, Status, StatusMessage, ManagedBy, Version string
	Observed                                            *struct{ Phase, DisplayState, InstanceID string }
}

// Pods asks for the pods of a namespace.
func (s *System) Pods(ctx context.Context, namespace string) ([]Pod, error) {
	answer := struct{ PodStatuses []Pod }{}
	err := s.Query(ctx, `query($namespace: String) { podStatuses(filter: {namespace: $namespace}) {
		namespace name status phase component ready restarts containers { name reason message } } }`,
		map[string]any{"namespace": namespace}, &answer)
	return answer.PodStatuses, err
}

// Deployment asks for the deployment of a name that is not deleted, and returns nil
// where the server has none.
func (s *System) Deployment(ctx context.Context, name string) (*Deployment, error) {
	answer := struct{ Deployments []Deployment }{}
	err := s.Query(ctx, `query($name: String) { deployments(filter: {name: $name}) {
		id name status statusMessage managedBy version observed { phase displayState instanceId } } }`,
		map[string]any{"name": name}, &answer)
	if err != nil {
		return nil, err
	}
	for i := range answer.Deployments {
		if answer.Deployments[i].Status != "DELETED" {
			return &answer.Deployments[i], nil
		}
	}
	return nil, nil
}
