// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

// stage is the page over a real store, with one cluster whose agent reports and
// a worker that runs flows.
type stage struct {
	testing.TB

	store   *store.Store
	clock   *storetest.Clock
	handler http.Handler
	admin   server.Identity
	// sessions are the cookies of those who are signed in, by role.
	sessions map[server.Role]string
	tokens   map[server.Role]string
	log      *bytes.Buffer

	site
}

// site is a cluster whose agent reports.
type site struct {
	cluster  server.Cluster
	agent    server.Identity
	report   string
	sequence int64
}

func newStage(t testing.TB) *stage {
	t.Helper()
	clock := storetest.NewClock()
	s := &stage{
		TB: t, clock: clock, store: storetest.Open(t, storetest.SQLite(t), clock), log: new(bytes.Buffer),
		sessions: map[server.Role]string{}, tokens: map[server.Role]string{},
	}
	var err error
	s.handler, err = NewHandler(Options{
		Store: s.store, ReportTimeout: time.Minute, Now: clock.Now, Version: "1.4.0",
		Log: s.logger(),
	})
	s.must(err)
	s.site = s.newSite("north")
	for role, name := range map[server.Role]string{server.RoleAdmin: "operations", server.RoleViewer: "wallboard"} {
		token, secret, err := s.store.CreateToken(t.Context(), name, role)
		s.must(err)
		s.tokens[role] = secret
		s.sessions[role], err = s.store.SignIn(t.Context(), secret, sessionLifetime)
		s.must(err)
		if role == server.RoleAdmin {
			s.admin = token.Identity()
		}
	}
	return s
}

func (s *stage) logger() logr.Logger {
	return funcr.New(func(prefix, args string) { s.log.WriteString(prefix + args + "\n") }, funcr.Options{})
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) newSite(name string) site {
	s.Helper()
	cluster, secret, err := s.store.CreateCluster(s.Context(), name)
	s.must(err)
	agent, err := s.store.Identify(s.Context(), secret)
	s.must(err)
	made := site{cluster: cluster, agent: agent}
	made.report = s.openSession(made, "agent-0")
	return made
}

// at is the stage with its agent and worker in another cluster.
func (s *stage) at(other site) *stage {
	there := *s
	there.site = other
	return &there
}

func (s *stage) openSession(at site, agent string) string {
	s.Helper()
	session, err := s.store.OpenSession(s.Context(), at.agent, server.OpenSession{
		ClusterID: at.cluster.ID, ClusterUID: "kube-" + at.cluster.Name, AgentID: agent, AgentVersion: "1.4.0",
	})
	s.must(err)
	return session.ID
}

// seen is what the agent sees: objects, and the pods of each namespace.
type seen struct {
	objects []server.DeploymentStatus
	pods    map[string][]server.PodStatus
}

// reports sends one complete snapshot, pods first.
func (s *stage) reports(what seen) {
	s.Helper()
	s.sequence++
	header := s.header()
	pods := server.PodReport{Header: header}
	for namespace, list := range what.pods {
		pods.Namespaces = append(pods.Namespaces, server.NamespacePods{Namespace: namespace, Digest: server.NewID(), Pods: list})
	}
	_, err := s.store.ApplyPodReport(s.Context(), s.agent, pods)
	s.must(err)
	s.reportsDeployments(header, what.objects)
}

// reportsObjects sends a snapshot without the pods, which could not be read.
func (s *stage) reportsObjects(what seen) {
	s.Helper()
	s.sequence++
	s.reportsDeployments(s.header(), what.objects)
}

func (s *stage) reportsDeployments(header server.ReportHeader, objects []server.DeploymentStatus) {
	s.Helper()
	if objects == nil {
		objects = []server.DeploymentStatus{}
	}
	_, err := s.store.ApplyDeploymentReport(s.Context(), s.agent, server.DeploymentReport{Header: header, Deployments: objects})
	s.must(err)
}

// header is that of a complete snapshot of now.
func (s *stage) header() server.ReportHeader {
	now := s.clock.Now()
	return server.ReportHeader{
		SessionID: s.report, Sequence: s.sequence, Complete: true, ObservedAt: now.Add(-2 * time.Second), SentAt: now,
	}
}

// object is a StyrminDeployment that was applied by hand and runs.
func (s *stage) object(name string) server.DeploymentStatus {
	target, generation := "prod-"+name, int64(1)
	return server.DeploymentStatus{
		UID: "uid-" + name, Namespace: "styrmin", Name: name, DeploymentID: "uid-" + name,
		InstanceID: name + "-1", InstanceSource: server.InstanceSourceStatus, Generation: 1, ObservedGeneration: &generation,
		TargetNamespace: &target, Phase: "Ready", DisplayState: "Running",
	}
}

// pod is a healthy pod.
func (s *stage) pod(name string) server.PodStatus {
	created, node := s.clock.Now().Add(-3*time.Hour), "node-a"
	return server.PodStatus{
		UID: "uid-" + name, Name: name, Node: &node, Phase: "Running", Status: "Running", Ready: true,
		ReadyContainers: 1, TotalContainers: 1, CreatedAt: created,
		Containers: []server.ContainerStatus{{
			Name: "server", Kind: server.ContainerKindApp, Ready: true, State: server.ContainerStateRunning, StartedAt: &created,
		}},
	}
}

// crashing is a pod whose container crashes, with the message.
func (s *stage) crashing(name, message string) server.PodStatus {
	pod := s.pod(name)
	reason, last, code, ended := "CrashLoopBackOff", "Error", 137, s.clock.Now().Add(-time.Minute)
	pod.Status, pod.Ready, pod.ReadyContainers, pod.Restarts = reason, false, 0, 7
	container := &pod.Containers[0]
	container.Ready, container.State, container.Reason, container.Message = false, server.ContainerStateWaiting, &reason, &message
	container.Restarts, container.LastReason, container.LastExitCode, container.LastFinishedAt = 7, &last, &code, &ended
	return pod
}

const shopSpec = `{"version": "2.4.0",
	"helmRelease": {"releaseName": "shop", "chart": {"repository": "oci://charts.example.com", "name": "shop", "version": "2.4.0"}},
	"components": [
		{"name": "server", "replicas": 3, "replicasValue": "server.replicas", "selector": {"matchLabels": {"c": "server"}}},
		{"name": "database", "replicas": 1, "selector": {"matchLabels": {"c": "database"}}}],
	"services": [{"name": "web", "component": "server", "port": 80, "http": {"host": "shop.example.com", "tlsSecretName": "shop-tls"}}],
	"hooks": {"upgrade": {"pre": [{"stopComponents": ["server"]}], "post": [{"startComponents": ["server"]}]}}}`

// create declares a deployment through the server; its task waits.
func (s *stage) create(name, spec string) *server.Task {
	s.Helper()
	task, err := s.store.CreateDeployment(s.Context(), s.admin, server.NewDeployment{
		Name: name, ClusterID: s.cluster.ID, Environment: "prod", Spec: json.RawMessage(spec),
	}, nil)
	s.must(err)
	return task
}

func (s *stage) request(deployment string, change server.Change) *server.Task {
	s.Helper()
	task, err := s.store.RequestChange(s.Context(), s.admin, deployment, change, nil)
	s.must(err)
	return task
}

const worker = "worker-1"

// claim takes the next task, which must be the wanted one.
func (s *stage) claim(task string) {
	s.Helper()
	claimed, err := s.store.ClaimTask(s.Context(), s.agent, s.cluster.ID, worker, 3600)
	s.must(err)
	if claimed == nil || claimed.Task.ID != task {
		s.Fatalf("another task was claimed: %v", claimed)
	}
}

func (s *stage) find(task string) *server.Task {
	s.Helper()
	_, tasks, err := s.store.TaskView(s.Context(), task)
	s.must(err)
	return tasks.Find(task)
}

// step finds a step of a task by the beginning of its name.
func (s *stage) step(task, name string) string {
	s.Helper()
	for _, step := range s.find(task).Steps {
		if strings.HasPrefix(step.Name, name) {
			return step.ID
		}
	}
	s.Fatalf("task %s has no step %s", task, name)
	return ""
}

func (s *stage) start(task, step string) {
	s.Helper()
	s.must(s.store.StartStep(s.Context(), s.agent, task, worker, s.step(task, step)))
}

func (s *stage) finish(task, step string) {
	s.Helper()
	s.must(s.store.FinishStep(s.Context(), s.agent, task, worker, s.step(task, step), nil))
}

// write runs the step that writes the StyrminDeployment.
func (s *stage) write(task string) server.Instance {
	s.Helper()
	s.start(task, "Write")
	instance, err := s.store.RecordSpecWrite(s.Context(), s.agent, task, worker)
	s.must(err)
	s.finish(task, "Write")
	return instance
}

func (s *stage) end(task string) {
	s.Helper()
	s.must(s.store.FinishTask(s.Context(), s.agent, task, worker, server.TaskSuccess, nil))
}

// written is the object of a deployment of the server, as its operator sees the
// instance.
func (s *stage) written(deployment, name string, instance server.Instance, phase, state string) server.DeploymentStatus {
	object := s.object("prod-" + name)
	target := "prod-" + name
	object.DeploymentID, object.InstanceID, object.TargetNamespace = deployment, instance.ID, &target
	object.Phase, object.DisplayState = phase, state
	object.Components = []server.ComponentStatus{
		{Name: "server", Desired: 3, Ready: 3, State: "Running"}, {Name: "database", Desired: 1, Ready: 1, State: "Running"},
	}
	return object
}

// runShop creates a deployment that runs, and returns its id and its object.
func (s *stage) runShop() (string, seen) {
	s.Helper()
	task := s.create("shop", shopSpec)
	s.claim(task.ID)
	instance := s.write(task.ID)
	s.end(task.ID)
	what := seen{
		objects: []server.DeploymentStatus{s.written(task.DeploymentID, "shop", instance, "Ready", "Running")},
		pods:    map[string][]server.PodStatus{"prod-shop": {s.pod("shop-server-a"), s.pod("shop-server-b"), s.pod("shop-server-c"), s.pod("shop-database-0")}},
	}
	s.clock.Advance(time.Second)
	s.reports(what)
	s.reports(what)
	return task.DeploymentID, what
}

// answerOf is what the page answered.
type answerOf struct {
	*httptest.ResponseRecorder
	body string
}

// get asks for an address as someone of the role, or as no one.
func (s *stage) get(role server.Role, address string, headers ...string) answerOf {
	s.Helper()
	return s.do(role, httptest.NewRequestWithContext(s.Context(), http.MethodGet, address, http.NoBody), headers)
}

// post sends a form from the page's own origin.
func (s *stage) post(role server.Role, address string, form url.Values, headers ...string) answerOf {
	s.Helper()
	return s.do(role, s.form(address, form), headers)
}

func (s *stage) form(address string, form url.Values) *http.Request {
	request := httptest.NewRequestWithContext(s.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return request
}

func (s *stage) do(role server.Role, request *http.Request, headers []string) answerOf {
	s.Helper()
	if session := s.sessions[role]; session != "" {
		request.AddCookie(&http.Cookie{Name: sessionCookie, Value: session})
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		}
	}
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, request)
	return answerOf{ResponseRecorder: recorder, body: recorder.Body.String()}
}

// cookie is what the answer sets, or nil.
func (s *stage) cookie(got answerOf) *http.Cookie {
	s.Helper()
	line := got.Header().Get("Set-Cookie")
	if line == "" {
		return nil
	}
	cookie, err := http.ParseSetCookie(line)
	s.must(err)
	return cookie
}

func (s *stage) want(what string, want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantText checks that a page says something.
func (s *stage) wantText(got answerOf, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if !strings.Contains(got.body, text) {
			s.Errorf("the page lacks %q:\n%.6000s", text, got.body)
		}
	}
}

func (s *stage) wantNoText(got answerOf, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if strings.Contains(got.body, text) {
			s.Errorf("the page holds %q:\n%.6000s", text, got.body)
		}
	}
}

// rowsOf are the names of the deployments that the overview lists, in order.
func (s *stage) rowsOf(got answerOf) []string {
	s.Helper()
	matches := rowName.FindAllStringSubmatch(got.body, -1)
	names := make([]string, 0, len(matches))
	for _, match := range matches {
		names = append(names, match[1])
	}
	return names
}

var rowName = regexp.MustCompile(`<a href="/deployments/[^"]*">([^<]*)</a>`)

// measured runs a benchmark and reports the median of its times, which is what a
// person waits for, and the CPU that each run took, whatever else the machine
// does.
func measured(b *testing.B, do func()) {
	b.Helper()
	var times []time.Duration
	before := cpuTime(b)
	for b.Loop() {
		began := time.Now()
		do()
		times = append(times, time.Since(began))
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(len(times)), "cpu-ms/op")
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
}

// cpuTime is what this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
