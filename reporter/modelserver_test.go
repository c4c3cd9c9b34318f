// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// modelServer takes reports as the contract tells it to, and keeps what a
// server would have stored. Tests can put failures in its way.
type modelServer struct {
	*httptest.Server
	t *testing.T

	open atomic.Int64

	mu sync.Mutex
	// intervalSeconds that it asks for; 0 asks for nothing.
	intervalSeconds int
	clusterUID      string
	session         string
	sessions        int
	sequences       map[kind]int64
	// namespaces by name, pods by UID.
	namespaces  map[string]*modelNamespace
	deployments []DeploymentStatusInput
	digest      string
	requests    []modelRequest
	// rejects is the name of the objects that it cannot store.
	rejects string
	// intercept answers in the server's place when it returns true; nil does not.
	intercept func(w http.ResponseWriter, r *http.Request, request *modelRequest) bool
	// after is called when a report was applied and before it is answered; true
	// when it answers itself.
	after func(w http.ResponseWriter, request *modelRequest) bool
}

type modelNamespace struct {
	digest string
	pods   map[string]PodStatusInput
}

// modelRequest is a request as it came over the wire.
type modelRequest struct {
	OperationName string `json:"operationName"`
	Query         string `json:"query"`
	Variables     struct {
		Input       *OpenReportSessionInput `json:"input"`
		Report      ReportHeader            `json:"report"`
		Namespaces  []NamespacePodsInput    `json:"namespaces"`
		Digest      *string                 `json:"digest"`
		Deployments []DeploymentStatusInput `json:"deployments"`
	} `json:"variables"`
	authorization string
	raw           []byte
	// compressed is how many bytes came over the wire.
	compressed int64
}

func newModelServer(t *testing.T) *modelServer {
	t.Helper()
	s := &modelServer{t: t, sequences: map[kind]int64{}, namespaces: map[string]*modelNamespace{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.handle))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			s.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			s.open.Add(-1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// openConnections returns how many connections clients have open.
func (s *modelServer) openConnections() int {
	return int(s.open.Load())
}

func (s *modelServer) handle(w http.ResponseWriter, r *http.Request) {
	request, err := readModelRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, *request)
	if s.intercept != nil && s.intercept(w, r, request) {
		return
	}
	if r.URL.Path != "/graphql" || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	data, code := s.apply(request)
	if s.after != nil && s.after(w, request) {
		return
	}
	if code != "" {
		writeRefusal(w, code)
		return
	}
	writeJSON(w, map[string]any{"data": data})
}

func readModelRequest(r *http.Request) (*modelRequest, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unzipped
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	request := &modelRequest{raw: raw, compressed: r.ContentLength, authorization: r.Header.Get("Authorization")}
	if err := json.Unmarshal(raw, request); err != nil {
		return nil, fmt.Errorf("body %q: %w", raw, err)
	}
	return request, nil
}

func (s *modelServer) apply(request *modelRequest) (data any, refusal string) {
	v := &request.Variables
	switch request.OperationName {
	case "OpenReportSession":
		if s.clusterUID != "" && s.clusterUID != v.Input.ClusterUid {
			return nil, codeClusterMismatch
		}
		s.clusterUID = v.Input.ClusterUid
		s.sessions++
		s.session = fmt.Sprintf("session-%d", s.sessions)
		clear(s.sequences)
		return map[string]any{"openReportSession": ReportSession{
			Id: s.session, ClusterId: "cluster", IntervalSeconds: s.intervalSeconds, ServerTime: time.Unix(0, 0).UTC(),
		}}, ""
	case "ReportPodStatuses":
		applied, code := s.accept(kindPods, &v.Report)
		result := PodReportResult{Sequence: v.Report.Sequence, Applied: applied, Rejected: []RejectedRow{}, Resend: []string{}}
		if applied {
			result.Resend, result.Rejected = s.applyPods(v.Namespaces)
		}
		return map[string]any{"reportPodStatuses": result}, code
	case "ReportDeploymentStatuses":
		applied, code := s.accept(kindDeployments, &v.Report)
		result := DeploymentReportResult{Sequence: v.Report.Sequence, Applied: applied, Rejected: []RejectedRow{}}
		if applied {
			result.Resend, result.Rejected = s.applyDeployments(v.Digest, v.Deployments)
		}
		return map[string]any{"reportDeploymentStatuses": result}, code
	}
	return nil, "NOT_FOUND"
}

// accept is rule R2.
func (s *modelServer) accept(k kind, header *ReportHeader) (applied bool, refusal string) {
	if !header.Complete {
		s.t.Errorf("An incomplete report of %s was sent", k)
	}
	if header.SessionId != s.session {
		if s.session == "" {
			return false, codeSessionUnknown
		}
		return false, codeSessionSuperseded
	}
	if header.Sequence <= s.sequences[k] {
		return false, ""
	}
	s.sequences[k] = header.Sequence
	return true, ""
}

// applyPods is rule R1 for pods.
func (s *modelServer) applyPods(inputs []NamespacePodsInput) (resend []string, rejected []RejectedRow) {
	resend, rejected = []string{}, []RejectedRow{}
	listed := map[string]bool{}
	for _, input := range inputs {
		listed[input.Namespace] = true
		stored := s.namespaces[input.Namespace]
		switch {
		case input.Pods == nil:
			if stored == nil || stored.digest != input.Digest {
				resend = append(resend, input.Namespace)
			}
			continue
		case input.Base == nil:
			stored = &modelNamespace{pods: map[string]PodStatusInput{}}
			s.namespaces[input.Namespace] = stored
		case stored == nil || stored.digest != *input.Base:
			resend = append(resend, input.Namespace)
			continue
		}
		stored.digest = input.Digest
		for _, pod := range input.Pods {
			if pod.Name == s.rejects {
				rejected = append(rejected, RejectedRow{Namespace: input.Namespace, Name: pod.Name, Reason: "the test says so"})
				stored.digest = ""
				continue
			}
			stored.pods[pod.Uid] = pod
		}
		for _, uid := range input.Gone {
			delete(stored.pods, uid)
		}
	}
	maps.DeleteFunc(s.namespaces, func(name string, _ *modelNamespace) bool { return !listed[name] })
	return resend, rejected
}

func (s *modelServer) applyDeployments(digest *string, rows []DeploymentStatusInput) (resend bool, rejected []RejectedRow) {
	rejected = []RejectedRow{}
	if rows == nil {
		return digest == nil || *digest != s.digest, rejected
	}
	s.deployments, s.digest = nil, *digest
	for i := range rows {
		if rows[i].Name == s.rejects {
			rejected = append(rejected, RejectedRow{Namespace: rows[i].Namespace, Name: rows[i].Name, Reason: "the test says so"})
			s.digest = ""
			continue
		}
		s.deployments = append(s.deployments, rows[i])
	}
	return false, rejected
}

// podNames returns <namespace>/<name> of all stored pods, sorted.
func (s *modelServer) podNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	for namespace, stored := range s.namespaces {
		for _, pod := range stored.pods {
			names = append(names, namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// storedPods returns all stored pods by <namespace>/<uid>.
func (s *modelServer) storedPods() map[string]PodStatusInput {
	s.mu.Lock()
	defer s.mu.Unlock()
	pods := map[string]PodStatusInput{}
	for namespace, stored := range s.namespaces {
		for uid, pod := range stored.pods {
			pods[namespace+"/"+uid] = pod
		}
	}
	return pods
}

// deploymentNames returns the names of all stored deployments, in their order.
func (s *modelServer) deploymentNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.deployments))
	for _, row := range s.deployments {
		names = append(names, row.Name)
	}
	return names
}

// received returns the requests since the last call.
func (s *modelServer) received() []modelRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// change changes the server's settings between requests.
func (s *modelServer) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func operations(requests []modelRequest) []string {
	names := make([]string, 0, len(requests))
	for i := range requests {
		names = append(names, requests[i].OperationName)
	}
	return names
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func writeRefusal(w http.ResponseWriter, code string) {
	writeJSON(w, map[string]any{
		"data":   nil,
		"errors": []any{map[string]any{"message": "refused by the test", "extensions": map[string]any{"code": code}}},
	})
}

// sequencesOf returns the sequences of the kind's reports that are in requests.
func (s *modelServer) sequencesOf(k kind) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	operation := map[kind]string{kindPods: "ReportPodStatuses", kindDeployments: "ReportDeploymentStatuses"}[k]
	var sequences []int64
	for i := range s.requests {
		if s.requests[i].OperationName == operation {
			sequences = append(sequences, s.requests[i].Variables.Report.Sequence)
		}
	}
	return sequences
}
