// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

func TestR1ACompleteReportLeavesExactlyItsPods(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x"), pod("y")), whole("b", "b1", pod("z")), whole("empty", "e1"))
		w.wantStored("a/x uid-x", "a/y uid-y", "b/z uid-z")

		result := w.pods(whole("a", "a2", pod("x")), whole("c", "c1", pod("v")))
		w.wantStored("a/x uid-x", "c/v uid-v")
		w.want("the answer", server.PodReportResult{Sequence: 2, Applied: true, Upserted: 1, Deleted: 2}, result)
	})
}

func TestR1AnEmptyCompleteReportDeletesAllCaseB01(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x")))
		w.deployments(object("shop"))
		w.pods()
		w.deployments()
		w.wantStored()
		statuses, err := w.store.DeploymentStatuses(w.Context(), store.DeploymentStatusFilter{}, store.Page{First: 10})
		w.must(err)
		w.want("the deployment rows", []server.DeploymentStatus{}, statuses)
	})
}

func TestR1AnIncompleteReportDeletesNothingCaseB01(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x"), pod("y")), whole("b", "b1", pod("z")))
		w.deployments()
		before := w.lastReport()
		w.clock.Advance(5 * time.Second)

		report := server.PodReport{Header: w.header(), Namespaces: []server.NamespacePods{whole("a", "a2", pod("w"))}}
		report.Header.Complete = false
		w.podReport(report)
		w.wantStored("a/w uid-w", "a/x uid-x", "a/y uid-y", "b/z uid-z")
		w.want("the last-report time", before, w.lastReport())

		// Its digest is nobody's whole state: neither the one before nor its own.
		for _, digest := range []string{"a1", "a2"} {
			result := w.pods(same("a", digest), same("b", "b1"))
			w.want("the namespaces to send again", []string{"a"}, result.Resend)
		}
	})
}

func TestR1AnIncompleteReportKeepsTheDigestsThatItDoesNotTouch(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x")), whole("b", "b1", pod("z")))
		report := server.PodReport{Header: w.header(), Namespaces: []server.NamespacePods{
			changed("a", "a1", "a2", []string{"uid-x"}), same("b", "b1"),
		}}
		report.Header.Complete = false
		w.podReport(report)
		w.wantStored("a/x uid-x", "b/z uid-z")
		w.want("the namespaces to send again", []string{"a"}, w.pods(same("a", "a2"), same("b", "b1")).Resend)
	})
}

func TestR1ANamespaceMayComeByItsDigest(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x")), whole("empty", "e1"))
		result := w.pods(same("a", "a1"), same("empty", "e1"))
		w.want("the answer", server.PodReportResult{Sequence: 2, Applied: true}, result)
		w.wantStored("a/x uid-x")
	})
}

func TestR1ANamespaceWithAnotherDigestIsAskedForUntouched(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x")), whole("b", "b1", pod("z")))
		result := w.pods(
			same("a", "a9"), changed("b", "b9", "b2", []string{"uid-z"}, pod("w")), same("new", "n1"))
		w.want("the namespaces to send again", []string{"a", "b", "new"}, result.Resend)
		w.wantStored("a/x uid-x", "b/z uid-z")
	})
}

func TestR1ChangesApplyToTheirBase(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x"), pod("y"), pod("z")))
		ill := pod("y")
		ill.Ready = false
		result := w.pods(changed("a", "a1", "a2", []string{"uid-x", "uid-unknown"}, ill, pod("new")))
		w.want("the answer", server.PodReportResult{Sequence: 2, Applied: true, Upserted: 2, Deleted: 1}, result)
		w.wantStored("a/new uid-new", "a/y uid-y", "a/z uid-z")
		w.want("the answer by digest", server.PodReportResult{Sequence: 3, Applied: true}, w.pods(same("a", "a2")))
	})
}

func TestR1OnlyChangedRowsAreWritten(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("x"), pod("y")))
		first := w.clock.Now()
		second := w.clock.Advance(5 * time.Second)
		ill := pod("y")
		ill.Ready, ill.Status = false, "CrashLoopBackOff"
		result := w.pods(whole("a", "a2", pod("x"), ill))
		w.want("the upserted rows", 1, result.Upserted)

		pods, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: 10})
		w.must(err)
		changed := map[string]time.Time{}
		for _, pod := range pods {
			changed[pod.Name] = pod.ChangedAt
		}
		w.want("when the rows changed", map[string]time.Time{"x": first, "y": second}, changed)
	})
}

func TestR1ANewUIDUnderAnOldNameReplacesTheRowCaseC04(t *testing.T) {
	for name, second := range map[string]func(w *world, pod server.PodStatus) server.NamespacePods{
		"in full": func(_ *world, pod server.PodStatus) server.NamespacePods { return whole("env-a", "2", pod) },
		"by changes": func(_ *world, pod server.PodStatus) server.NamespacePods {
			return changed("env-a", "1", "2", []string{"U1"}, pod)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(w *world) {
				old := pod("db-0")
				reason, message := "CrashLoopBackOff", "back-off"
				old.UID, old.Restarts, old.Ready, old.Message = "U1", 9, false, &message
				old.Containers[0].Reason = &reason
				w.pods(whole("env-a", "1", old))

				w.clock.Advance(5 * time.Second)
				fresh := server.PodStatus{
					UID: "U2", Name: "db-0", Phase: "Pending", Status: "Pending", TotalContainers: 1, CreatedAt: w.clock.Now(),
				}
				w.pods(second(w, fresh))

				got, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: 10})
				w.must(err)
				fresh.ClusterID, fresh.Namespace, fresh.ChangedAt = w.cluster.ID, "env-a", w.clock.Now()
				fresh.Containers = []server.ContainerStatus{}
				w.want("the rows", []server.PodStatus{fresh}, got)
			})
		})
	}
}

func TestR15OneBadRowNeverBlocksTheOthersCaseC02(t *testing.T) {
	onEach(t, func(w *world) {
		message := "boom\x00\xff" + string(make([]byte, 2000)) + "世界"
		odd := pod("odd")
		odd.Message = &message
		odd.Containers[0].Message = &message
		nameless, unidentified := pod(""), pod("no-uid")
		unidentified.UID = ""
		result := w.pods(whole("a", "a1", odd, nameless, unidentified, pod("x"), pod("x")))
		w.want("the rejected rows", []server.RejectedRow{
			{Namespace: "a", Reason: "the pod has no name"},
			{Namespace: "a", Name: "no-uid", Reason: "the pod has no uid"},
			{Namespace: "a", Name: "x", Reason: "the report holds another pod of this name"},
		}, result.Rejected)
		w.wantStored("a/odd uid-odd", "a/x uid-x")
		pods, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: 1})
		w.must(err)
		w.want("the message", "boom�世界", *pods[0].Message)
		w.want("the container's message", "boom�世界", *pods[0].Containers[0].Message)
	})
}

func TestPodsComeBackAsTheyWereReported(t *testing.T) {
	onEach(t, func(w *world) {
		text := func(s string) *string { return &s }
		number := func(n int) *int { return &n }
		at := func(second int) *time.Time {
			t := time.Date(2026, time.November, 29, 11, 0, second, 0, time.UTC)
			return &t
		}
		full := server.PodStatus{
			UID: "u", Name: "it's \\ \"odd\" ?", Node: text("node-1"), Phase: "Running", Status: "Terminating",
			Message: text("a 'quoted' \\ message\n?0 ${x} 世界 \U0001F600"), Ready: true, ReadyContainers: 1, TotalContainers: 2,
			Restarts: 1 << 40, CreatedAt: *at(1), StartedAt: at(2), DeletionRequestedAt: at(3),
			OwnerKind: text("ReplicaSet"), OwnerName: text("shop-1"), Component: text("server"),
			Containers: []server.ContainerStatus{
				{
					Name: "init", Kind: server.ContainerKindInit, Image: text("init:1"), State: server.ContainerStateTerminated,
					Reason: text("Completed"), ExitCode: number(0), StartedAt: at(4), FinishedAt: at(5),
				},
				{
					Name: "server", Kind: server.ContainerKindApp, Ready: true, Restarts: 3, State: server.ContainerStateRunning,
					Message: text("m"), LastReason: text("OOMKilled"), LastExitCode: number(137), LastFinishedAt: at(6),
				},
			},
		}
		w.pods(whole("a", "a1", full))
		got, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: 1})
		w.must(err)
		full.ClusterID, full.Namespace, full.ChangedAt = w.cluster.ID, "a", w.clock.Now()
		w.want("the pod", []server.PodStatus{full}, got)
		w.want("the rows that a repeat writes", 0, w.pods(whole("a", "a2", got[0])).Upserted)
	})
}

func TestAReportThatListsANamespaceTwiceIsRefused(t *testing.T) {
	onEach(t, func(w *world) {
		_, err := w.store.ApplyPodReport(w.Context(), w.agent, server.PodReport{
			Header: w.header(), Namespaces: []server.NamespacePods{whole("a", "a1", pod("x")), whole("a", "a2")},
		})
		w.wantCode(err, server.CodeInvalidInput)
		w.wantStored()
	})
}

func TestALargeReportIsWrittenInBatches(t *testing.T) {
	onEach(t, func(w *world) {
		pods := make([]server.PodStatus, 1234)
		for i := range pods {
			pods[i] = pod(names(i))
		}
		w.want("the upserted rows", 1234, w.pods(whole("a", "a1", pods...)).Upserted)
		w.want("the deleted rows", 1232, w.pods(whole("a", "a2", pods[:2]...)).Deleted)
		gone := make([]string, len(pods))
		for i := range pods {
			gone[i] = pods[i].UID
		}
		result := w.pods(changed("a", "a2", "a3", gone[:1], pods[1:]...))
		w.want("the upserted rows", 1232, result.Upserted)
		w.want("the deleted rows by UID", 1233, w.pods(changed("a", "a3", "a4", gone)).Deleted)
	})
}

// names makes a name that sorts like its number.
func names(i int) string {
	return string([]byte{'p', byte('0' + i/1000), byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)})
}
