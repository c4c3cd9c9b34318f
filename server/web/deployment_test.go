// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

func TestADeploymentThatRunsIsShownWhole(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	got := s.get(server.RoleViewer, "/deployments/"+id)
	s.wantText(got, "RUNNING", "3 of 3 ready", `href="https://shop.example.com"`, "shop 2.4.0", "4 ready", "shop-server-a",
		"last report", "same</b>", "Create</a>", "SUCCEEDED")
}

func TestADeploymentIsShownInEachState(t *testing.T) {
	for name, tt := range map[string]struct {
		play     func(s *stage) string
		want     []string
		wantNone []string
	}{
		"declared and not written yet": {
			play: func(s *stage) string { return s.create("shop", shopSpec).DeploymentID },
			want: []string{"PENDING", "never reported", "Waiting for a worker", "no spec was written yet", "No pods."},
		},
		"written and not reported yet": {
			play: func(s *stage) string {
				task := s.create("shop", shopSpec)
				s.claim(task.ID)
				s.write(task.ID)
				return task.DeploymentID
			},
			want:     []string{"DEPLOYING", "The cluster has no object of this deployment", "3 replicas", "Create network policies and secrets"},
			wantNone: []string{"difference"},
		},
		"its agent is silent": {
			play: func(s *stage) string {
				id, _ := s.runShop()
				s.clock.Advance(5 * time.Minute)
				return id
			},
			want: []string{"Agent silent", "No report since", "the last known state", "12:00:01"},
		},
		"its operator is watched by nobody": {
			play: func(s *stage) string {
				task := s.create("shop", shopSpec)
				s.claim(task.ID)
				s.write(task.ID)
				s.clock.Advance(61 * time.Second)
				return task.DeploymentID
			},
			want: []string{"Notice</b> No report from the agent since 2026-11-29T12:00:00Z"},
		},
		"internal": {
			play: func(s *stage) string {
				ingress := s.object("ingress")
				ingress.Internal = true
				s.reports(seen{objects: []server.DeploymentStatus{ingress}})
				return ingress.DeploymentID
			},
			want: []string{"internal, of the platform", "The spec is in the cluster", "the cluster</dd>"},
		},
		"deleted": {
			play: func(s *stage) string {
				s.reports(seen{objects: []server.DeploymentStatus{s.object("blog")}})
				s.reports(seen{})
				s.clock.Advance(time.Hour)
				return "uid-blog"
			},
			want:     []string{"DELETED", "Nothing of this deployment is left"},
			wantNone: []string{"Agent silent", "do-delete"},
		},
		"deleted, and back in the cluster": {
			play: func(s *stage) string {
				id, what := s.runShop()
				task := s.request(id, server.Change{Kind: server.TaskDelete})
				s.claim(task.ID)
				s.start(task.ID, "Request")
				s.must(s.store.RecordDeletionRequest(s.Context(), s.agent, task.ID, worker))
				s.finish(task.ID, "Request")
				s.end(task.ID)
				s.clock.Advance(5 * time.Second)
				s.reports(seen{})
				s.clock.Advance(5 * time.Second)
				s.reports(what)
				return id
			},
			want:     []string{"DELETED", "Not gone</b>", "the cluster has styrmin/prod-shop"},
			wantNone: []string{"Nothing of this deployment is left"},
		},
		"its pods are not reported": {
			play: func(s *stage) string {
				id, what := s.runShop()
				s.clock.Advance(61 * time.Second)
				s.reportsObjects(what)
				return id
			},
			want:     []string{"RUNNING", "Pods silent", "since <time data-at datetime=\"2026-11-29T12:00:01Z\"", "the last known ones"},
			wantNone: []string{"Agent silent"},
		},
		"with more tasks than are shown": {
			play: func(s *stage) string {
				id, _ := s.runShop()
				scale := func(replicas int) *server.Task {
					return s.request(id, server.Change{Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "server", Replicas: replicas}}})
				}
				s.claim(scale(4).ID)
				for i := range maxTasks + 5 {
					scale(5 + i)
				}
				return id
			},
			want:     []string{"Waiting for a worker", "Scale server to 4</a></h2> <b class=\"st busy\">RUNNING", "Scale server to 29", "20 of 27 tasks are shown"},
			wantNone: []string{"No task has changed"},
		},
		"missing from its cluster": {
			play: func(s *stage) string {
				id, _ := s.runShop()
				s.clock.Advance(5 * time.Second)
				s.reports(seen{})
				return id
			},
			want:     []string{"FAILED", "not found in the cluster", "The cluster has no object"},
			wantNone: []string{"Agent silent"},
		},
		"failed in an upgrade": {
			play: func(s *stage) string { return newScene(s).failedUpgrade("checkout") },
			want: []string{"FAILED", "Upgrade to 2.5.0", "attempt 2", "1 earlier attempt", "Stop server", "differences</b>",
				"ImagePullBackOff", "Error (exit 137)", "4 failing, 2 ready", "HelmReleaseReady"},
		},
		"rolling out": {
			play: func(s *stage) string { return newScene(s).midRollout("shop") },
			want: []string{"DEPLOYING", "Scale server to 5", "data-span", "2 starting, 4 ready", "3 of 5 ready · Progressing", "ContainerCreating"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			got := s.get(server.RoleAdmin, "/deployments/"+tt.play(s))
			s.wantText(got, tt.want...)
			s.wantNoText(got, tt.wantNone...)
		})
	}
}

const hostile = `<img src=x onerror=alert(1)>"'\x60</td><script>alert(2)</script>`

func TestHTMLOfTheClusterIsText(t *testing.T) {
	s := newStage(t)
	object := s.object("evil" + hostile)
	text := hostile
	object.Message, object.DisplayState, object.Phase = &text, "Error"+hostile, "Ready"+hostile
	object.Conditions = []server.Condition{{Type: hostile, Status: hostile, Reason: &text, Message: &text}}
	object.Components = []server.ComponentStatus{{Name: hostile, Desired: 2, State: hostile}}
	pod := s.crashing("pod"+hostile, hostile)
	pod.Status, pod.Component, pod.Node, pod.Message = hostile, &text, &text, &text
	pod.Containers[0].Name, pod.Containers[0].Reason, pod.Containers[0].LastReason = hostile, &text, &text
	s.reports(seen{objects: []server.DeploymentStatus{object}, pods: map[string][]server.PodStatus{*object.TargetNamespace: {pod}}})
	for _, address := range []string{"/", "/deployments/" + url.PathEscape(object.DeploymentID), "/?q=" + url.QueryEscape(hostile)} {
		got := s.get(server.RoleAdmin, address)
		s.want("the status of "+address, 200, got.Code)
		s.wantText(got, "&lt;img src=x")
		s.wantNoText(got, "<img", "<script>", "</td><script")
		if broken := regexp.MustCompile(`="[^"<>]*<`).FindString(got.body); broken != "" {
			t.Errorf("an attribute is broken: %s", broken)
		}
	}
}

func TestPodsAreSortedByTheAddress(t *testing.T) {
	s := newStage(t)
	object := s.object("shop")
	old, young := s.pod("b-old"), s.pod("c-young")
	old.CreatedAt, young.CreatedAt = s.clock.Now().Add(-50*time.Hour), s.clock.Now()
	node := "node-z"
	young.Node = &node
	s.reports(seen{objects: []server.DeploymentStatus{object}})
	s.reports(seen{
		objects: []server.DeploymentStatus{object},
		pods:    map[string][]server.PodStatus{*object.TargetNamespace: {s.pod("a"), old, young, s.crashing("z-sick", "")}},
	})
	for query, want := range map[string][]string{
		"":                      {"z-sick", "a", "b-old", "c-young"},
		"?sort=pod":             {"a", "b-old", "c-young", "z-sick"},
		"?sort=pod&desc=1":      {"z-sick", "c-young", "b-old", "a"},
		"?sort=restarts&desc=1": {"z-sick", "a", "b-old", "c-young"},
		"?sort=age":             {"c-young", "a", "z-sick", "b-old"},
		"?sort=node&desc=1":     {"c-young", "a", "b-old", "z-sick"},
		"?sort=end&desc=1":      {"z-sick", "a", "b-old", "c-young"},
		"?sort=nothing":         {"z-sick", "a", "b-old", "c-young"},
	} {
		got := s.get(server.RoleViewer, "/deployments/uid-shop"+query)
		_, table, _ := strings.Cut(got.body, `<table class="pods"`)
		matches := regexp.MustCompile(`</b><td>([a-z-]+)`).FindAllStringSubmatch(table, -1)
		names := make([]string, 0, len(matches))
		for _, match := range matches {
			names = append(names, match[1])
		}
		s.want("the pods by "+query, want, names)
	}
	s.wantText(s.get(server.RoleViewer, "/deployments/uid-shop?sort=pod"), `aria-sort="ascending"><a href="/deployments/uid-shop?desc=1&amp;sort=pod"`)
}

func TestFiveHundredPodsAreALightPage(t *testing.T) {
	s := newStage(t)
	scene := newScene(s)
	id := scene.crowd("fleet", 500)
	scene.pass(0)
	scene.pass(time.Second)
	whole := s.get(server.RoleViewer, "/deployments/"+id, "Accept-Encoding", "gzip")
	plain := s.get(server.RoleViewer, "/deployments/"+id)
	s.wantText(plain, "13 failing, 10 starting, 6 terminating, 471 ready", "500 pods:")
	s.want("the cells", 500, strings.Count(plain.body, "<i class="))
	if size := whole.Body.Len(); size > maxPageBytes || size == 0 {
		t.Errorf("the page weighs %d bytes", size)
	}
	reload := s.get(server.RoleViewer, s.reloadOf(plain), "HX-Request", "true")
	if size := reload.Body.Len(); size > maxReloadBytes || size == 0 {
		t.Errorf("a reload without changes weighs %d bytes", size)
	}
	t.Logf("the page weighs %d bytes (%d unpacked), a reload without changes %d", whole.Body.Len(), plain.Body.Len(), reload.Body.Len())
}

// BenchmarkDeployment answers the page of a deployment with 500 pods.
func BenchmarkDeployment(b *testing.B) {
	s := newStage(b)
	scene := newScene(s)
	id := scene.crowd("fleet", 500)
	scene.pass(0)
	scene.pass(time.Second)
	measured(b, func() { s.get(server.RoleViewer, "/deployments/"+id, "Accept-Encoding", "gzip") })
}
