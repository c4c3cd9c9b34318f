// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a store with one cluster whose agent has opened a session.
type world struct {
	*testing.T
	store   *store.Store
	clock   *storetest.Clock
	cluster server.Cluster
	agent   server.Identity
	session string
	// sequence is the last that was used.
	sequence int64
}

// onEach runs the test on each database, in a world of its own.
func onEach(t *testing.T, test func(w *world)) {
	t.Helper()
	storetest.Run(t, func(t *testing.T, url string) {
		clock := storetest.NewClock()
		w := &world{T: t, store: storetest.Open(t, url, clock), clock: clock}
		w.cluster, w.agent = w.newCluster("c1")
		w.session = w.open("kube-c1", "agent-0")
		test(w)
	})
}

func (w *world) newCluster(name string) (server.Cluster, server.Identity) {
	w.Helper()
	cluster, secret, err := w.store.CreateCluster(w.Context(), name)
	w.must(err)
	agent, err := w.store.Identify(w.Context(), secret)
	w.must(err)
	return cluster, agent
}

func (w *world) open(clusterUID, agentID string) string {
	w.Helper()
	session, err := w.store.OpenSession(w.Context(), w.agent, server.OpenSession{
		ClusterID: w.agent.ClusterID, ClusterUID: clusterUID, AgentID: agentID, AgentVersion: "1",
	})
	w.must(err)
	w.sequence = 0
	return session.ID
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// header is that of the session's next snapshot.
func (w *world) header() server.ReportHeader {
	w.sequence++
	return w.headerOf(w.sequence)
}

func (w *world) headerOf(sequence int64) server.ReportHeader {
	return server.ReportHeader{
		SessionID: w.session, Sequence: sequence, Complete: true,
		ObservedAt: w.clock.Now().Add(-time.Second), SentAt: w.clock.Now(),
	}
}

// pods sends a complete report of the pods.
func (w *world) pods(namespaces ...server.NamespacePods) server.PodReportResult {
	w.Helper()
	return w.podReport(server.PodReport{Header: w.header(), Namespaces: namespaces})
}

func (w *world) podReport(report server.PodReport) server.PodReportResult {
	w.Helper()
	result, err := w.store.ApplyPodReport(w.Context(), w.agent, report)
	w.must(err)
	return result
}

// deployments sends a complete report of the StyrminDeployments.
func (w *world) deployments(statuses ...server.DeploymentStatus) server.DeploymentReportResult {
	w.Helper()
	if statuses == nil {
		statuses = []server.DeploymentStatus{}
	}
	return w.deploymentReport(server.DeploymentReport{Header: w.header(), Deployments: statuses})
}

func (w *world) deploymentReport(report server.DeploymentReport) server.DeploymentReportResult {
	w.Helper()
	result, err := w.store.ApplyDeploymentReport(w.Context(), w.agent, report)
	w.must(err)
	return result
}

// stored returns "namespace/name uid" of all pod rows.
func (w *world) stored() []string {
	w.Helper()
	pods, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: store.MaxPage})
	w.must(err)
	rows := make([]string, len(pods))
	for i, pod := range pods {
		rows[i] = fmt.Sprintf("%s/%s %s", pod.Namespace, pod.Name, pod.UID)
	}
	return rows
}

func (w *world) wantStored(rows ...string) {
	w.Helper()
	if rows == nil {
		rows = []string{}
	}
	w.want("the pod rows", rows, w.stored())
}

func (w *world) want(what string, want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantCode checks that a call was refused.
func (w *world) wantCode(err error, code server.Code) {
	w.Helper()
	if err == nil {
		w.Errorf("the call was not refused, want %s", code)
	} else if got := server.CodeOf(err); got != code {
		w.Errorf("the code is %s, want %s: %v", got, code, err)
	}
}

func (w *world) deployment(id string) server.Deployment {
	w.Helper()
	deployment, err := w.store.Deployment(w.Context(), id)
	w.must(err)
	return deployment
}

func (w *world) lastReport() *time.Time {
	w.Helper()
	cluster, err := w.store.Cluster(w.Context(), w.cluster.ID)
	w.must(err)
	return cluster.LastReportAt
}

// pod is a healthy pod whose UID is "uid-" and its name.
func pod(name string) server.PodStatus {
	created := time.Date(2026, time.November, 29, 10, 0, 0, 0, time.UTC)
	return server.PodStatus{
		UID: "uid-" + name, Name: name, Phase: "Running", Status: "Running",
		Ready: true, ReadyContainers: 1, TotalContainers: 1, CreatedAt: created,
		Containers: []server.ContainerStatus{{
			Name: "server", Kind: server.ContainerKindApp, Ready: true, State: server.ContainerStateRunning, StartedAt: &created,
		}},
	}
}

// whole is a namespace in full.
func whole(namespace, digest string, pods ...server.PodStatus) server.NamespacePods {
	if pods == nil {
		pods = []server.PodStatus{}
	}
	return server.NamespacePods{Namespace: namespace, Digest: digest, Pods: pods}
}

// same is a namespace that has not changed since the digest.
func same(namespace, digest string) server.NamespacePods {
	return server.NamespacePods{Namespace: namespace, Digest: digest}
}

// changed is a namespace by its changes to the base.
func changed(namespace, base, digest string, gone []string, pods ...server.PodStatus) server.NamespacePods {
	return server.NamespacePods{Namespace: namespace, Base: &base, Digest: digest, Gone: gone, Pods: pods}
}

// object is a StyrminDeployment that was applied by hand and runs.
func object(name string) server.DeploymentStatus {
	target := "prod-" + name
	observed := int64(1)
	return server.DeploymentStatus{
		UID: "uid-" + name, Namespace: "styrmin", Name: name, DeploymentID: "uid-" + name,
		InstanceID: name + "-1", InstanceSource: server.InstanceSourceStatus,
		Generation: 1, ObservedGeneration: &observed, TargetNamespace: &target,
		Phase: "Ready", DisplayState: "Running",
	}
}
