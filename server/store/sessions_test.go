// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

func TestR2AnOlderOrRepeatedReportChangesNothingCaseC01(t *testing.T) {
	onEach(t, func(w *world) {
		failed := object("shop")
		failed.Phase, failed.DisplayState = "Failed", "Error"
		w.podReport(server.PodReport{Header: w.headerOf(42), Namespaces: []server.NamespacePods{whole("a", "a42", pod("x"))}})
		w.deploymentReport(server.DeploymentReport{Header: w.headerOf(42), Deployments: []server.DeploymentStatus{failed}})
		received := w.clock.Now()
		w.clock.Advance(time.Minute)

		for _, sequence := range []int64{41, 42, 0} {
			pods := w.podReport(server.PodReport{Header: w.headerOf(sequence), Namespaces: []server.NamespacePods{whole("a", "late")}})
			w.want("the answer for pods", server.PodReportResult{Sequence: 42}, pods)
			deployments := w.deploymentReport(server.DeploymentReport{
				Header: w.headerOf(sequence), Deployments: []server.DeploymentStatus{object("shop")},
			})
			w.want("the answer for deployments", server.DeploymentReportResult{Sequence: 42}, deployments)
		}
		w.wantStored("a/x uid-x")
		w.want("the status", server.DeploymentFailed, w.deployment("uid-shop").Status)
		w.want("the last-report time", &received, w.lastReport())
		w.want("the deployment's last-report time", &received, w.deployment("uid-shop").LastReportAt)
	})
}

func TestR2KindsAreFencedApart(t *testing.T) {
	onEach(t, func(w *world) {
		w.podReport(server.PodReport{Header: w.headerOf(7), Namespaces: []server.NamespacePods{}})
		result := w.deploymentReport(server.DeploymentReport{Header: w.headerOf(7), Deployments: []server.DeploymentStatus{}})
		w.want("the answer", server.DeploymentReportResult{Sequence: 7, Applied: true}, result)
	})
}

func TestR2ALaterSessionSupersedesTheEarlierCasesB08AndH04(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x")))
		old := w.headerOf(99)
		w.session = w.open("kube-c1", "agent-1")
		w.pods(whole("a", "a1", pod("x"), pod("y")))

		_, err := w.store.ApplyPodReport(w.Context(), w.agent, server.PodReport{Header: old})
		w.wantCode(err, server.CodeSessionSuperseded)
		_, err = w.store.ApplyDeploymentReport(w.Context(), w.agent,
			server.DeploymentReport{Header: old, Deployments: []server.DeploymentStatus{}})
		w.wantCode(err, server.CodeSessionSuperseded)
		w.wantStored("a/x uid-x", "a/y uid-y")
	})
}

func TestR2AnUnknownSessionIsRefused(t *testing.T) {
	onEach(t, func(w *world) {
		header := w.header()
		header.SessionID = "none"
		_, err := w.store.ApplyPodReport(w.Context(), w.agent, server.PodReport{Header: header})
		w.wantCode(err, server.CodeSessionUnknown)
	})
}

func TestAnotherKubernetesClusterIsRefusedCaseB08(t *testing.T) {
	onEach(t, func(w *world) {
		open := func(agent server.Identity, cluster server.Cluster, uid string) error {
			_, err := w.store.OpenSession(w.Context(), agent, server.OpenSession{
				ClusterID: cluster.ID, ClusterUID: uid, AgentID: "other", AgentVersion: "1",
			})
			return err
		}
		w.wantCode(open(w.agent, w.cluster, "kube-other"), server.CodeClusterMismatch)
		second, secondAgent := w.newCluster("c2")
		w.wantCode(open(secondAgent, second, "kube-c1"), server.CodeClusterMismatch)
		w.wantCode(open(w.agent, w.cluster, ""), server.CodeInvalidInput)

		// The session of the right one still counts.
		w.pods(whole("a", "a1", pod("x")))
		w.wantStored("a/x uid-x")
	})
}

func TestR14AnAgentReportsItsOwnClusterAloneCaseC07(t *testing.T) {
	onEach(t, func(w *world) {
		w.deployments(object("shop"))
		first, firstSession := w.agent, w.session
		var second server.Cluster
		second, w.agent = w.newCluster("c2")
		w.session = w.open("kube-c2", "agent")

		_, err := w.store.OpenSession(w.Context(), w.agent, server.OpenSession{ClusterID: w.cluster.ID, ClusterUID: "kube-c1"})
		w.wantCode(err, server.CodeForbidden)
		header := w.header()
		header.SessionID = firstSession
		_, err = w.store.ApplyPodReport(w.Context(), w.agent, server.PodReport{Header: header})
		w.wantCode(err, server.CodeForbidden)

		ours := object("ours")
		theirs := object("shop")
		theirs.DisplayState, theirs.Phase = "Error", "Failed"
		result := w.deployments(theirs, ours)
		w.want("the rejected rows", []server.RejectedRow{
			{Namespace: "styrmin", Name: "shop", Reason: "the deployment belongs to another cluster"},
		}, result.Rejected)
		w.want("the status of the other's deployment", server.DeploymentRunning, w.deployment("uid-shop").Status)
		w.want("the cluster of its own", second.ID, w.deployment("uid-ours").ClusterID)

		w.agent, w.session, w.sequence = first, firstSession, 100
		w.pods(whole("a", "a1", pod("x")))
		w.wantStored("a/x uid-x")
	})
}

func TestR3TheLastReportIsTimedByTheServersClockCaseD06(t *testing.T) {
	onEach(t, func(w *world) {
		at := w.clock.Now()
		header := w.header()
		header.ObservedAt, header.SentAt = at.Add(-7*time.Minute-3*time.Second), at.Add(-7*time.Minute)
		w.podReport(server.PodReport{Header: header, Namespaces: []server.NamespacePods{}})
		w.want("the last-report time without StyrminDeployments", (*time.Time)(nil), w.lastReport())
		w.clock.Advance(time.Minute)
		w.deployments()
		cluster, err := w.store.Cluster(w.Context(), w.cluster.ID)
		w.must(err)
		w.want("the last-report time", &at, cluster.LastReportAt)
		age := 3.0
		w.want("the age of the data", &age, cluster.DataAgeSeconds)
	})
}

func TestR3APodReportThatIsAskedForAgainIsNotTheLast(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x")))
		w.deployments()
		before := w.lastReport()
		w.clock.Advance(time.Minute)
		w.deployments()
		result := w.pods(server.NamespacePods{Namespace: "a", Digest: "unknown"})
		w.want("what is asked for again", []string{"a"}, result.Resend)
		w.want("the last-report time", before, w.lastReport())
		w.pods(whole("a", "a2", pod("x")))
		now := w.clock.Now()
		w.want("the last-report time once it came", &now, w.lastReport())
	})
}

func TestOldSessionsAreForgottenInTheEnd(t *testing.T) {
	onEach(t, func(w *world) {
		old := w.header()
		w.clock.Advance(29 * 24 * time.Hour)
		w.session = w.open("kube-c1", "agent-1")
		_, err := w.store.ApplyPodReport(w.Context(), w.agent, server.PodReport{Header: old})
		w.wantCode(err, server.CodeSessionSuperseded)
		w.clock.Advance(2 * 24 * time.Hour)
		w.session = w.open("kube-c1", "agent-2")
		_, err = w.store.ApplyPodReport(w.Context(), w.agent, server.PodReport{Header: old})
		w.wantCode(err, server.CodeSessionUnknown)
	})
}

func TestTwoServersStartAtOnceOnANewDatabase(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		const servers = 4
		opened := make(chan error, servers)
		for range servers {
			go func() {
				s, err := store.Open(t.Context(), url, store.Options{})
				if err == nil {
					err = s.Close()
				}
				opened <- err
			}()
		}
		for range servers {
			if err := <-opened; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestTwoServersAgreeOnOneDatabase lets two servers apply the same snapshots at
// once: each is applied by one of them, and by one alone.
func TestTwoServersAgreeOnOneDatabase(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		clock := storetest.NewClock()
		w := &world{T: t, store: storetest.Open(t, url, clock), clock: clock}
		other := storetest.Open(t, url, clock)
		w.cluster, w.agent = w.newCluster("c1")
		w.session = w.open("kube-c1", "agent-0")

		const snapshots = 20
		for sequence := range int64(snapshots) {
			applied := make(chan bool, 2)
			for _, s := range []*store.Store{w.store, other} {
				go func() {
					result, err := s.ApplyPodReport(t.Context(), w.agent, server.PodReport{
						Header:     w.headerOf(sequence + 1),
						Namespaces: []server.NamespacePods{whole("a", names(int(sequence)), pod(names(int(sequence))), pod("x"))},
					})
					if err != nil {
						t.Error(err)
					}
					applied <- result.Applied
				}()
			}
			if first, second := <-applied, <-applied; first == second {
				t.Errorf("snapshot %d: applied by the first server: %v, by the second: %v", sequence+1, first, second)
			}
		}
		w.wantStored("a/p0019 uid-p0019", "a/x uid-x")
	})
}

func TestARotatedTokenComesWithItsClusterAsItIs(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x"), pod("y")))
		w.deployments(object("shop"))
		rotated, _, err := w.store.RotateAgentToken(w.Context(), w.cluster.ID)
		w.must(err)
		now, err := w.store.Cluster(w.Context(), w.cluster.ID)
		w.must(err)
		w.want("the cluster", now, rotated)
		w.want("its pods", 2, rotated.Pods)
	})
}
