// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// travelled says what of a namespace was in a report.
type travelled struct {
	Whole   bool
	Pods    []string
	Gone    []string
	HasBase bool
}

// travels returns what of each namespace was in the only report of pods among
// the requests.
func travels(t *testing.T, requests []modelRequest) map[string]travelled {
	t.Helper()
	var result map[string]travelled
	for i := range requests {
		if requests[i].OperationName != "ReportPodStatuses" {
			continue
		}
		if result != nil {
			t.Fatal("There are several reports of pods")
		}
		result = map[string]travelled{}
		for _, namespace := range requests[i].Variables.Namespaces {
			what := travelled{Whole: namespace.Base == nil && namespace.Pods != nil, HasBase: namespace.Base != nil, Gone: namespace.Gone}
			for _, pod := range namespace.Pods {
				what.Pods = append(what.Pods, pod.Name)
			}
			result[namespace.Namespace] = what
		}
	}
	return result
}

// TestP7WhatTheServerCouldNotStoreTravelsEachTime: of such rows it keeps no digest, and
// would only ask for them.
func TestP7WhatTheServerCouldNotStoreTravelsEachTime(t *testing.T) {
	h := newHarness(t)
	var lines []string
	h.log = funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	h.pods.objects = []*corev1.Pod{testPod("ns-a", "bad"), testPod("ns-a", "good"), testPod("ns-b", "other")}
	h.deployments.objects = []*styrminv1.StyrminDeployment{testDeployment("bad"), testDeployment("good")}
	h.server.rejects = "bad"
	l := newLoop(h.reporter)
	for range 6 {
		mustCycle(t, l)
		h.fakeClock.Step(5 * time.Second)
	}
	requests := h.server.received()
	last := requests[len(requests)-2:]
	want := map[string]travelled{"ns-a": {Whole: true, Pods: []string{"bad", "good"}}, "ns-b": {}}
	if diff := cmp.Diff(want, travels(t, last)); diff != "" {
		t.Errorf("the last report of pods (-want +got):\n%s", diff)
	}
	if got := len(last[1].Variables.Deployments); got != 2 {
		t.Errorf("The last report tells %d deployments", got)
	}
	if l.isBehind {
		t.Error("It hurries, though there is nothing that would help")
	}
	metrics := gather(t, h.registry)
	for _, k := range []kind{kindPods, kindDeployments} {
		if got := metrics["reports_total "+string(k)+" success"]; got != 6 {
			t.Errorf("%v of 6 reports of %s were a success", got, k)
		}
	}
	log := strings.Join(lines, "\n")
	if strings.Count(log, "storing all rows") != 2 || strings.Contains(log, "Recovered") {
		t.Errorf("It is not said once of each kind:\n%s", log)
	}

	h.server.change(func() { h.server.rejects = "" })
	mustCycle(t, l)
	h.server.received()
	mustCycle(t, l)
	if diff := cmp.Diff(map[string]travelled{"ns-a": {}, "ns-b": {}}, travels(t, h.server.received())); diff != "" {
		t.Errorf("the report after it was mended (-want +got):\n%s", diff)
	}
}

func withVersion(version int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ResourceVersion = strconv.Itoa(version) }
}

func withMessage(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Message = message }
}

func TestP7WhatIsAcknowledgedDoesNotTravelAgain(t *testing.T) {
	first := func() []*corev1.Pod {
		return []*corev1.Pod{testPod("a", "a-0"), testPod("a", "a-1"), testPod("b", "b-0")}
	}
	whole := map[string]travelled{
		"a": {Whole: true, Pods: []string{"a-0", "a-1"}},
		"b": {Whole: true, Pods: []string{"b-0"}},
	}
	for name, tc := range map[string]struct {
		happens func(t *testing.T, h *harness, l *loop)
		want    map[string]travelled
	}{
		"nothing changes": {
			happens: func(*testing.T, *harness, *loop) {},
			want:    map[string]travelled{"a": {}, "b": {}},
		},
		"a pod changes": {
			happens: func(_ *testing.T, h *harness, _ *loop) {
				h.pods.objects[1] = testPod("a", "a-1", withVersion(2), withMessage("new"))
			},
			want: map[string]travelled{"a": {HasBase: true, Pods: []string{"a-1"}}, "b": {}},
		},
		"a pod changes in what is not reported": {
			happens: func(_ *testing.T, h *harness, _ *loop) { h.pods.objects[1] = testPod("a", "a-1", withVersion(2)) },
			want:    map[string]travelled{"a": {}, "b": {}},
		},
		"a pod comes and another goes": {
			happens: func(_ *testing.T, h *harness, _ *loop) { h.pods.objects[0] = testPod("a", "a-2") },
			want:    map[string]travelled{"a": {HasBase: true, Pods: []string{"a-2"}, Gone: []string{"uid-of-a-0"}}, "b": {}},
		},
		"a pod of the same name with another UID comes in its place (case C04)": {
			happens: func(_ *testing.T, h *harness, _ *loop) {
				h.pods.objects[0] = testPod("a", "a-0", func(p *corev1.Pod) { p.UID = "another" })
			},
			want: map[string]travelled{"a": {HasBase: true, Pods: []string{"a-0"}, Gone: []string{"uid-of-a-0"}}, "b": {}},
		},
		"a pod goes after another has gone, which is not told twice": {
			happens: func(t *testing.T, h *harness, l *loop) {
				h.pods.objects[0] = testPod("a", "a-2")
				mustCycle(t, l)
				h.server.received()
				h.pods.objects[0] = testPod("a", "a-3")
			},
			want: map[string]travelled{"a": {HasBase: true, Pods: []string{"a-3"}, Gone: []string{"uid-of-a-2"}}, "b": {}},
		},
		"a namespace loses its last pod": {
			happens: func(_ *testing.T, h *harness, _ *loop) { h.pods.objects = h.pods.objects[:2] },
			want:    map[string]travelled{"a": {}},
		},
		"a namespace gets its first pod": {
			happens: func(_ *testing.T, h *harness, _ *loop) { h.pods.objects = append(h.pods.objects, testPod("c", "c-0")) },
			want:    map[string]travelled{"a": {}, "b": {}, "c": {Whole: true, Pods: []string{"c-0"}}},
		},
		"the server wants a namespace again": {
			happens: func(t *testing.T, h *harness, l *loop) {
				h.server.change(func() { h.server.namespaces["a"].digest = "of something else" })
				mustCycle(t, l)
				h.server.received()
			},
			want: map[string]travelled{"a": {Whole: true, Pods: []string{"a-0", "a-1"}}, "b": {}},
		},
		"ten minutes have passed": {
			happens: func(_ *testing.T, h *harness, _ *loop) { h.fakeClock.Step(fullReportInterval) },
			want:    whole,
		},
		"a new session is opened": {
			happens: func(_ *testing.T, _ *harness, l *loop) { l.session = nil },
			want:    whole,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.pods.objects = first()
			l := newLoop(h.reporter)
			mustCycle(t, l)
			if diff := cmp.Diff(whole, travels(t, h.server.received())); diff != "" {
				t.Fatalf("the first report (-want +got):\n%s", diff)
			}
			tc.happens(t, h, l)
			mustCycle(t, l)
			if diff := cmp.Diff(tc.want, travels(t, h.server.received())); diff != "" {
				t.Errorf("the next report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(clusterPodNames(h.pods.objects), h.server.podNames()); diff != "" {
				t.Errorf("stored pods (-cluster +server):\n%s", diff)
			}
		})
	}
}

func clusterPodNames(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(names)
	return names
}

// TestP7TheServerHasWhatTheClusterHas lets a cluster change at random, and
// answers get lost, sessions end and the server forget; whenever a cycle
// succeeds and the server wants nothing again, the two are equal.
func TestP7TheServerHasWhatTheClusterHas(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			h := newHarness(t)
			l := newLoop(h.reporter)
			cluster := map[types.UID]*corev1.Pod{}
			version := 1
			compared := 0
			for range 60 {
				changeAtRandom(random, cluster, &version)
				h.pods.objects = slices.Collect(maps.Values(cluster))
				harmAtRandom(random, h)
				if random.IntN(12) == 0 {
					h.fakeClock.Step(fullReportInterval)
				}
				err := l.cycle(t.Context())
				h.server.change(func() { h.server.intercept, h.server.after = nil, nil })
				if err != nil {
					l.wait(err, 0)
					continue
				}
				if l.podTable.awaitsResend() {
					continue
				}
				compared++
				if diff := cmp.Diff(renderedPods(cluster), h.server.storedPods()); diff != "" {
					t.Fatalf("pods (-cluster +server):\n%s", diff)
				}
			}
			if compared < 10 {
				t.Errorf("Only %d cycles were compared", compared)
			}
		})
	}
}

// awaitsResend tells whether a namespace is not acknowledged.
func (t *podTable) awaitsResend() bool {
	for _, namespace := range t.namespaces {
		if namespace.acknowledged != namespace.digest {
			return true
		}
	}
	return false
}

func changeAtRandom(random *rand.Rand, cluster map[types.UID]*corev1.Pod, version *int) {
	for range random.IntN(6) {
		*version++
		name := fmt.Sprintf("pod-%d", random.IntN(8))
		pod := testPod(fmt.Sprintf("ns-%d", random.IntN(4)), name, withVersion(*version), withMessage(strconv.Itoa(random.IntN(3))))
		// A UID comes back only in the namespace and under the name that it had.
		pod.UID = types.UID(fmt.Sprintf("%s/%s/%d", pod.Namespace, name, random.IntN(2)))
		if random.IntN(3) == 0 {
			delete(cluster, pod.UID)
		} else {
			cluster[pod.UID] = pod
		}
	}
}

func harmAtRandom(random *rand.Rand, h *harness) {
	h.server.change(func() {
		switch random.IntN(8) {
		case 0: // The report is lost.
			h.server.intercept = func(w http.ResponseWriter, _ *http.Request, _ *modelRequest) bool {
				w.WriteHeader(http.StatusBadGateway)
				return true
			}
		case 1: // The answer is lost.
			h.server.after = func(w http.ResponseWriter, _ *modelRequest) bool {
				w.WriteHeader(http.StatusBadGateway)
				return true
			}
		case 2: // The server has lost its database.
			h.server.session = ""
			clear(h.server.namespaces)
		case 3: // The server has lost a namespace.
			delete(h.server.namespaces, fmt.Sprintf("ns-%d", random.IntN(4)))
		}
	})
}

func renderedPods(cluster map[types.UID]*corev1.Pod) map[string]PodStatusInput {
	pods := map[string]PodStatusInput{}
	for uid, pod := range cluster {
		pods[pod.Namespace+"/"+string(uid)] = podRow(pod, "")
	}
	return pods
}

func TestP7EqualStatesMakeEqualBytes(t *testing.T) {
	bodies := map[string][]string{}
	for range 5 {
		h := newHarness(t)
		for i := range 20 {
			h.pods.objects = append(h.pods.objects, testPod(fmt.Sprintf("ns-%d", i%3), fmt.Sprintf("pod-%d", i)))
			// Several have a claim to each pod.
			h.deployments.objects = append(h.deployments.objects, testDeployment(fmt.Sprintf("shop-%d", i),
				withTarget(fmt.Sprintf("ns-%d", i%3)), withComponents(componentOf(fmt.Sprintf("server-%d", i), nil))))
		}
		shuffle(h.pods.objects)
		shuffle(h.deployments.objects)
		mustCycle(t, newLoop(h.reporter))
		for _, request := range h.server.received() {
			bodies[request.OperationName] = append(bodies[request.OperationName], string(request.raw))
		}
	}
	for _, operation := range []string{"ReportPodStatuses", "ReportDeploymentStatuses"} {
		if len(bodies[operation]) != 5 {
			t.Errorf("%s came %d times", operation, len(bodies[operation]))
		}
		for _, body := range bodies[operation] {
			if diff := cmp.Diff(bodies[operation][0], body); diff != "" {
				t.Fatalf("body of %s (-first +later):\n%s", operation, diff)
			}
		}
	}
}

func shuffle[T any](objects []T) {
	rand.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
}

func TestP7ARowIsRenderedOnlyWhenItsPodChanges(t *testing.T) {
	table := newPodTable()
	pods := []*corev1.Pod{testPod("a", "a-0"), testPod("a", "a-1")}
	if err := table.update(pods, nil); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(table.namespaces["a"].sorted[0].row)
	// A pod with the same version is the same pod; that the row stays as it was
	// shows that it was not looked at.
	pods[0].Status.Message = "never to be seen"
	if err := table.update(pods, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(table.namespaces["a"].sorted[0].row)); diff != "" {
		t.Errorf("row (-before +after):\n%s", diff)
	}
	pods[0].ResourceVersion = "2"
	if err := table.update(pods, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(table.namespaces["a"].sorted[0].row), "never to be seen") {
		t.Error("The row of a changed pod is the old one")
	}
	allocations := testing.AllocsPerRun(10, func() {
		if err := table.update(pods, nil); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 0 {
		t.Errorf("An unchanged snapshot allocates %v times", allocations)
	}
}

func TestP7UnchangedDeploymentsTravelAsADigest(t *testing.T) {
	h := newHarness(t)
	h.deployments.objects = append(h.deployments.objects, testDeployment("shop"))
	l := newLoop(h.reporter)
	sent := func() []bool {
		mustCycle(t, l)
		var whole []bool
		for _, request := range h.server.received() {
			if request.OperationName == "ReportDeploymentStatuses" {
				whole = append(whole, request.Variables.Deployments != nil)
			}
		}
		return whole
	}
	steps := []struct {
		name    string
		happens func()
		want    []bool
	}{
		{"the first report", func() {}, []bool{true}},
		{"nothing changes", func() {}, []bool{false}},
		{"the phase changes", func() { h.deployments.objects[0] = testDeployment("shop", withPhase("Ready")) }, []bool{true}},
		{"the server has another digest", func() { h.server.change(func() { h.server.digest = "another" }) }, []bool{false}},
		{"so it wants them again", func() {}, []bool{true}},
		{"the last deployment goes", func() { h.deployments.objects = nil }, []bool{true}},
		{"there are none any more", func() {}, []bool{false}},
		{"ten minutes have passed", func() { h.fakeClock.Step(fullReportInterval + time.Second) }, []bool{true}},
	}
	for _, step := range steps {
		step.happens()
		if diff := cmp.Diff(step.want, sent()); diff != "" {
			t.Errorf("%s: the deployments travel (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestP7ARowThatIsMadeAnewIsTheSame: what was acknowledged is not kept, and is
// made again of the same pod where it has to travel once more.
func TestP7ARowThatIsMadeAnewIsTheSame(t *testing.T) {
	pulls := func(version int, reason, message string) *corev1.Pod {
		return testPod("a", "pulls", withVersion(version), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{containerStatus("app", waiting(reason))}
			p.Status.ContainerStatuses[0].State.Waiting.Message = message
		})
	}
	cases := statusCases()
	pods := make([]*corev1.Pod, 0, 1+len(cases))
	pods = append(pods, pulls(1, "ErrImagePull", "tag v9 not found"))
	for name, tc := range cases {
		pods = append(pods, testPod("b", strings.ReplaceAll(name, " ", "-"), func(p *corev1.Pod) { p.Spec, p.Status = tc.spec, tc.status }))
	}
	table := newPodTable()
	whole := func() string {
		if err := table.update(pods, nil); err != nil {
			t.Fatal(err)
		}
		table.forget()
		reports := table.report(maxRowBytes)
		var body strings.Builder
		if err := (&podVariables{namespaces: reports}).WriteJSON(&body); err != nil {
			t.Fatal(err)
		}
		table.acknowledge(reports, nil, nil)
		for _, entry := range table.namespaces["b"].sorted {
			if entry.row != nil {
				t.Fatalf("The row of %s is kept though it is acknowledged", entry.name)
			}
		}
		return body.String()
	}
	whole()
	// The useful message is remembered, not in the pod any more (case A03).
	pods[0] = pulls(2, "ImagePullBackOff", "back-off")
	first := whole()
	if !strings.Contains(first, "tag v9 not found") {
		t.Error("The useful message is lost")
	}
	if diff := cmp.Diff(first, whole()); diff != "" {
		t.Errorf("rows (-first +made anew):\n%s", diff)
	}
}

// TestCaseB06ObjectsOfTheCacheAreOnlyRead: others read them at the same time,
// which the race detector would tell.
func TestCaseB06ObjectsOfTheCacheAreOnlyRead(t *testing.T) {
	cases := statusCases()
	pods, before := make([]*corev1.Pod, 0, len(cases)), make([]*corev1.Pod, 0, len(cases))
	for name, tc := range cases {
		pod := testPod("a", strings.ReplaceAll(name, " ", "-"), withMessage("too long "+strings.Repeat("m", maxText)), func(p *corev1.Pod) {
			p.Spec, p.Status = tc.spec, tc.status
			p.Labels = map[string]string{"component": "server"}
		})
		pods, before = append(pods, pod), append(before, pod.DeepCopy())
	}
	components := newComponentIndex([]*styrminv1.StyrminDeployment{
		testDeployment("shop", withTarget("a"), withComponents(componentOf("server", map[string]string{"component": "server"}))),
	})
	var others sync.WaitGroup
	others.Go(func() {
		for _, pod := range pods {
			_ = pod.DeepCopy()
		}
	})
	if err := newPodTable().update(pods, components); err != nil {
		t.Fatal(err)
	}
	others.Wait()
	if diff := cmp.Diff(before, pods); diff != "" {
		t.Errorf("pods (-before +after):\n%s", diff)
	}
}

// TestP7AServerThatIsAwayCostsNoMemory: pods that come and go meanwhile are not
// remembered, since the next report is whole.
func TestP7AServerThatIsAwayCostsNoMemory(t *testing.T) {
	table := newPodTable()
	update := func(pods ...*corev1.Pod) []namespaceReport {
		t.Helper()
		if err := table.update(pods, componentIndex{}); err != nil {
			t.Fatal(err)
		}
		return table.report(1 << 20)
	}
	stays := testPod("a", "a-0")
	table.acknowledge(update(stays), nil, nil)
	for i := range 100 {
		name := "a-" + strconv.Itoa(i+1)
		table.doubt(update(stays, testPod("a", name)))
	}
	if gone := len(table.namespaces["a"].gone); gone != 0 {
		t.Errorf("%d pods are remembered", gone)
	}
	reports := update(stays)
	if len(reports) != 1 || reports[0].base != "" || len(reports[0].rows) != 1 {
		t.Errorf("the next report is %+v", reports)
	}
}
