// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server/store/storetest"
)

// The cluster of the benchmark: 50,000 pods.
const (
	memoryNamespaces = 500
	memoryPods       = 100 // in each namespace
)

// BenchmarkMemory measures the resident memory of the program itself, as a
// process of its own: the peak of the first full report of 50,000 pods, sent in
// one body, and the peak while 1 % of them change with each report after that.
func BenchmarkMemory(b *testing.B) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		b.Skip("the peak of a process cannot be measured here: ", err)
	}
	for name, database := range map[string]func(testing.TB) string{"SQLite": storetest.SQLite, "PostgreSQL": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			p := startProgram(b, database(b))
			p.open()
			p.report(0, true)
			p.report(0, false)
			first := p.peak()
			// An agent's next report comes seconds later; until then the server has
			// given back what the first one took.
			time.Sleep(3 * time.Second)
			p.forgetPeak()
			state := 0
			for b.Loop() {
				state++
				p.report(state, false)
			}
			b.ReportMetric(first, "first-MB")
			b.ReportMetric(p.peak(), "changes-MB")
		})
	}
}

// program is styrmin-server as a process.
type program struct {
	*testing.B
	process        *os.Process
	address        string
	admin, agent   string
	session        string
	sequence, last int
}

func startProgram(b *testing.B, database string) *program {
	b.Helper()
	dir := b.TempDir()
	binary, token := filepath.Join(dir, "styrmin-server"), filepath.Join(dir, "admin.token")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", binary, "..").CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	command := exec.CommandContext(b.Context(), binary,
		"--listen=127.0.0.1:0", "--metrics-listen=", "--database="+database, "--admin-token-file="+token)
	log, err := command.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	p := &program{B: b, process: command.Process, last: -1}
	lines := bufio.NewScanner(log)
	for p.address == "" && lines.Scan() {
		var line struct{ Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			p.address = line.Address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	text, err := os.ReadFile(token)
	if err != nil {
		b.Fatal(err)
	}
	p.admin = strings.TrimSpace(string(text))
	return p
}

// open makes the cluster and opens its session.
func (p *program) open() {
	p.Helper()
	created := p.call(p.admin, `mutation { createCluster(input: {name: "c1"}) { agentToken } }`, nil)
	p.agent = created["createCluster"].(map[string]any)["agentToken"].(string)
	opened := p.call(p.agent, openSession, map[string]any{
		"input": map[string]any{"clusterUid": "u", "agentId": "a", "agentVersion": "1"},
	})
	p.session = opened["openReportSession"].(map[string]any)["id"].(string)
}

// report sends the cluster in its n-th state: in each state one other pod of each
// namespace has restarted. In full, by the changes since the state before, or by
// the digests where nothing changed.
func (p *program) report(state int, whole bool) {
	p.Helper()
	p.sequence++
	namespaces := make([]any, memoryNamespaces)
	for i := range namespaces {
		namespace := map[string]any{"namespace": fmt.Sprintf("prod-app-%d", i), "digest": fmt.Sprintf("digest-%d-%d", i, state)}
		switch {
		case whole:
			pods := make([]any, memoryPods)
			for j := range pods {
				pods[j] = memoryPod(i, j, 0)
			}
			namespace["pods"] = pods
		case state != p.last:
			namespace["base"] = fmt.Sprintf("digest-%d-%d", i, p.last)
			namespace["pods"] = []any{memoryPod(i, state%memoryPods, state)}
			namespace["gone"] = []any{}
		}
		namespaces[i] = namespace
	}
	p.last = state
	got := p.call(p.agent, reportPods, map[string]any{"report": header(p.session, p.sequence), "namespaces": namespaces})
	result := got["reportPodStatuses"].(map[string]any)
	if resend := result["resend"].([]any); result["applied"] != true || len(resend) > 0 {
		p.Fatalf("the report was not taken: %.300v", result)
	}
}

func memoryPod(namespace, number, restarts int) any {
	made := pod(fmt.Sprintf("app-%d-server-7d9c5b8f6d-%05d", namespace, number), true)
	made["node"], made["restarts"] = fmt.Sprintf("node-%d.example.com", number%50), restarts
	made["ownerKind"], made["ownerName"], made["component"] = "ReplicaSet", "app-server-7d9c5b8f6d", "server"
	containers := make([]any, 2)
	for i, name := range []string{"server", "proxy"} {
		containers[i] = map[string]any{
			"name": name, "kind": "APP", "image": "registry.example.com/shop/" + name + ":2.4.1", "ready": true,
			"restarts": restarts, "state": "RUNNING", "startedAt": "2026-11-29T10:00:05Z",
		}
	}
	made["containers"] = containers
	return made
}

// call posts an operation as the agent does, packed.
func (p *program) call(token, query string, variables map[string]any) map[string]any {
	p.Helper()
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	if err := json.NewEncoder(packed).Encode(map[string]any{"query": query, "variables": variables}); err != nil {
		p.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		p.Fatal(err)
	}
	request, err := http.NewRequestWithContext(p.Context(), http.MethodPost, "http://"+p.address+"/graphql", &body)
	if err != nil {
		p.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got answer
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || got.Errors != nil {
		p.Fatalf("got %v %v", got.Errors, err)
	}
	return got.Data
}

// peak is the most memory that the process has had resident, in MB.
func (p *program) peak() float64 {
	p.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.process.Pid))
	if err != nil {
		p.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		p.Fatal(err)
	}
	return kilobytes / 1024
}

// forgetPeak lets the peak begin anew from what is resident now.
func (p *program) forgetPeak() {
	p.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.process.Pid), []byte("5"), 0o200); err != nil {
		p.Fatal(err)
	}
}
