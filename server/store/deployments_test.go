// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

func (w *world) observed() []server.DeploymentStatus {
	w.Helper()
	statuses, err := w.store.DeploymentStatuses(w.Context(), store.DeploymentStatusFilter{}, store.Page{First: 100})
	w.must(err)
	return statuses
}

func TestR14AnUnknownDeploymentIsAdopted(t *testing.T) {
	onEach(t, func(w *world) {
		w.deployments(object("shop"))
		at := w.clock.Now()
		w.want("the deployment", server.Deployment{
			ID: "uid-shop", ClusterID: w.cluster.ID, Name: "shop", ManagedBy: server.DeploymentManagerCluster,
			Status: server.DeploymentRunning, StatusSince: at, CreatedAt: at, LastReportAt: &at,
		}, w.deployment("uid-shop"))
	})
}

func TestR5AnAdoptedDeploymentFollowsItsReports(t *testing.T) {
	onEach(t, func(w *world) {
		w.deployments(object("shop"))
		message := "image cannot be pulled"
		failed := object("shop")
		failed.DisplayState, failed.Message = "Error", &message
		since := w.clock.Advance(5 * time.Second)
		w.deployments(failed)
		last := w.clock.Advance(5 * time.Second)
		w.deployments(failed)
		got := w.deployment("uid-shop")
		w.want("the status", server.DeploymentFailed, got.Status)
		w.want("the message", &message, got.StatusMessage)
		w.want("since when", since, got.StatusSince)
		w.want("the last report", &last, got.LastReportAt)
		w.deployments(object("shop"))
		w.want("the status after mending", server.DeploymentRunning, w.deployment("uid-shop").Status)
	})
}

func TestR9AnAdoptedDeploymentThatIsGoneIsDeleted(t *testing.T) {
	onEach(t, func(w *world) {
		w.deployments(object("shop"), object("blog"))
		result := w.deployments(object("blog"))
		w.want("the answer", server.DeploymentReportResult{Sequence: 2, Applied: true, Deleted: 1}, result)
		w.want("the gone one's status", server.DeploymentDeleted, w.deployment("uid-shop").Status)
		w.want("the other's status", server.DeploymentRunning, w.deployment("uid-blog").Status)
		w.want("the rows", 1, len(w.observed()))
	})
}

func TestR1DeploymentsMayComeByTheirDigest(t *testing.T) {
	onEach(t, func(w *world) {
		digest, other := "d1", "d2"
		w.deploymentReport(server.DeploymentReport{
			Header: w.header(), Digest: &digest, Deployments: []server.DeploymentStatus{object("shop")},
		})
		first := w.clock.Now()
		second := w.clock.Advance(5 * time.Second)
		result := w.deploymentReport(server.DeploymentReport{Header: w.header(), Digest: &digest})
		w.want("the answer", server.DeploymentReportResult{Sequence: 2, Applied: true}, result)
		w.want("the row's last-report time", second, w.observed()[0].LastReportAt)
		w.want("the deployment's last-report time", &second, w.deployment("uid-shop").LastReportAt)
		w.want("since when it runs", first, w.deployment("uid-shop").StatusSince)

		w.clock.Advance(5 * time.Second)
		result = w.deploymentReport(server.DeploymentReport{Header: w.header(), Digest: &other})
		w.want("the answer", server.DeploymentReportResult{Sequence: 3, Applied: true, Resend: true}, result)
		w.want("the row's last-report time", second, w.observed()[0].LastReportAt)
		w.podReport(server.PodReport{Header: w.headerOf(1)})
		w.want("the cluster's last-report time, as of its older half", &second, w.lastReport())
	})
}

func TestR1AnIncompleteDeploymentReportDeletesNothingCaseB02(t *testing.T) {
	onEach(t, func(w *world) {
		digest := "d1"
		w.deploymentReport(server.DeploymentReport{
			Header: w.header(), Digest: &digest, Deployments: []server.DeploymentStatus{object("shop"), object("blog")},
		})
		first := w.clock.Now()
		w.clock.Advance(5 * time.Second)
		failed := object("blog")
		failed.DisplayState = "Error"
		report := server.DeploymentReport{Header: w.header(), Digest: &digest, Deployments: []server.DeploymentStatus{failed}}
		report.Header.Complete = false
		w.deploymentReport(report)
		w.want("the rows", 2, len(w.observed()))
		for _, row := range w.observed() {
			w.want("the last-report time of "+row.Name, first, row.LastReportAt)
		}
		w.want("the status that was not reported", server.DeploymentRunning, w.deployment("uid-shop").Status)
		w.want("the status that was reported", server.DeploymentFailed, w.deployment("uid-blog").Status)
		w.want("the last-report time", &first, w.deployment("uid-blog").LastReportAt)
		w.podReport(server.PodReport{Header: w.headerOf(1)})
		w.want("the cluster's last-report time, as of its older half", &first, w.lastReport())
		w.want("whether the digest is forgotten", true,
			w.deploymentReport(server.DeploymentReport{Header: w.header(), Digest: &digest}).Resend)
	})
}

// TestCaseB02PodsWithoutDeployments keeps what the missing half would have said.
func TestCaseB02PodsWithoutDeployments(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("prod-shop", "n1", pod("x")))
		w.deployments(object("shop"))
		first := w.clock.Now()
		w.clock.Advance(time.Minute)
		w.pods(whole("prod-shop", "n2", pod("x"), pod("y")))
		w.want("the rows", 1, len(w.observed()))
		w.want("the deployment's last-report time", &first, w.deployment("uid-shop").LastReportAt)
	})
}

func TestR15ADeploymentRowThatCannotBeKeptIsRejectedByName(t *testing.T) {
	onEach(t, func(w *world) {
		broken := func(name string, change func(*server.DeploymentStatus)) server.DeploymentStatus {
			status := object(name)
			change(&status)
			return status
		}
		result := w.deployments(
			broken("a", func(s *server.DeploymentStatus) { s.UID = "" }),
			broken("b", func(s *server.DeploymentStatus) { s.Name = "" }),
			broken("c", func(s *server.DeploymentStatus) { s.Namespace = "" }),
			broken("d", func(s *server.DeploymentStatus) { s.DeploymentID = "" }),
			object("shop"), object("shop"),
		)
		w.want("the rejected rows", []server.RejectedRow{
			{Namespace: "styrmin", Name: "a", Reason: "the StyrminDeployment has no uid"},
			{Namespace: "styrmin", Reason: "the StyrminDeployment has no name"},
			{Name: "c", Reason: "the StyrminDeployment has no namespace"},
			{Namespace: "styrmin", Name: "d", Reason: "the StyrminDeployment has no deployment id"},
			{Namespace: "styrmin", Name: "shop", Reason: "the report holds another StyrminDeployment of this name"},
		}, result.Rejected)
		w.want("the rows", 1, len(w.observed()))
	})
}

func TestR5OfSeveralObjectsTheOneThatStaysSpeaks(t *testing.T) {
	onEach(t, func(w *world) {
		deletion := w.clock.Now()
		old := object("shop")
		old.UID, old.Namespace, old.DisplayState, old.DeletionRequestedAt = "old", "a-first", "Deleting", &deletion
		w.deployments(old, object("shop"))
		w.want("the status", server.DeploymentRunning, w.deployment("uid-shop").Status)

		// Nor does an incomplete report decide it by what it happens to hold.
		report := server.DeploymentReport{Header: w.header(), Deployments: []server.DeploymentStatus{old}}
		report.Header.Complete = false
		w.deploymentReport(report)
		w.want("the status", server.DeploymentRunning, w.deployment("uid-shop").Status)
		observed, err := w.store.ObservedOf(w.Context(), []string{"uid-shop"})
		w.must(err)
		w.want("the object that speaks", "styrmin", observed["uid-shop"].Namespace)
	})
}

func TestDeploymentRowsComeBackAsTheyWereReported(t *testing.T) {
	onEach(t, func(w *world) {
		text := func(s string) *string { return &s }
		generation := int64(1) << 53
		at := time.Date(2026, time.November, 29, 11, 0, 0, 0, time.UTC)
		full := object("shop")
		full.Internal, full.Message, full.DeletionRequestedAt = true, text("it's \\ 世界"), &at
		full.Generation, full.ObservedGeneration = generation, &generation
		full.InstanceSource, full.Phase, full.DisplayState = server.InstanceSourceSpec, "Odd", "Odder"
		full.Conditions = []server.Condition{{
			Type: "Ready", Status: "False", Reason: text("r"), Message: text("m"), ObservedGeneration: &generation, LastTransitionTime: at,
		}}
		full.Components = []server.ComponentStatus{{Name: "server", Desired: 3, Ready: 1, State: "Progressing"}}
		w.deployments(full)
		full.ClusterID, full.LastReportAt = w.cluster.ID, w.clock.Now()
		w.want("the row", []server.DeploymentStatus{full}, w.observed())
		w.want("the rows that a repeat writes", 0, w.deployments(full).Upserted)
	})
}

func TestPodsBelongToTheDeploymentOfTheirNamespace(t *testing.T) {
	onEach(t, func(w *world) {
		owner := func() any {
			pods, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: 1})
			w.must(err)
			if pods[0].DeploymentID == nil {
				return nil
			}
			return *pods[0].DeploymentID
		}
		w.pods(whole("prod-shop", "n1", pod("x")))
		w.want("the owner before the deployment is known", nil, owner())
		w.deployments(object("shop"))
		w.want("the owner", "uid-shop", owner())
		pods, err := w.store.PodsOf(w.Context(), []string{"uid-shop", "none"})
		w.must(err)
		w.want("the deployments' pods", []int{1, 0}, []int{len(pods["uid-shop"]), len(pods["none"])})

		moved := object("shop")
		other := "elsewhere"
		moved.TargetNamespace = &other
		w.deployments(moved)
		w.want("the owner after the deployment moved away", nil, owner())
		w.deployments(object("shop"))
		w.want("the owner after it came back", "uid-shop", owner())
		w.pods(whole("prod-shop", "n2", pod("w")))
		w.want("the owner of a new pod", "uid-shop", owner())
		w.deployments()
		w.want("the owner after the deployment is gone", nil, owner())
	})
}

// TestR14OfTwoThatClaimANamespaceTheOperatorsOwnerHasThePods: the one whose
// operator refused it (O7) does not, whatever its id.
func TestR14OfTwoThatClaimANamespaceTheOperatorsOwnerHasThePods(t *testing.T) {
	onEach(t, func(w *world) {
		conflict := "Conflict"
		owner, late := object("shop"), object("a-shop")
		late.TargetNamespace = owner.TargetNamespace
		late.Phase, late.DisplayState = "Failed", "Error"
		late.Conditions = []server.Condition{{Type: "PrerequisitesReady", Status: "False", Reason: &conflict, LastTransitionTime: w.clock.Now()}}
		owners := func() []string {
			pods, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, store.Page{First: 10})
			w.must(err)
			ids := make([]string, len(pods))
			for i := range pods {
				ids[i] = *pods[i].DeploymentID
			}
			return ids
		}
		w.pods(whole("prod-shop", "n1", pod("x")))
		w.deployments(owner, late)
		w.pods(whole("prod-shop", "n2", pod("x"), pod("y")))
		w.want("the owners", []string{"uid-shop", "uid-shop"}, owners())
		w.deployments(late)
		w.want("the owners once only the other is left", []string{"uid-a-shop", "uid-a-shop"}, owners())
		w.pods(whole("prod-shop", "n3", pod("x"), pod("z")))
		w.want("the owners of new pods", []string{"uid-a-shop", "uid-a-shop"}, owners())
	})
}
