// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
	"github.com/styrmin/styrmin/server/store/storetest"
)

const (
	user  = "token-of-a-user"
	lease = 30
)

func admin(token string) server.Identity {
	return server.Identity{Role: server.RoleAdmin, TokenID: token}
}

// declared is a deployment that a user declares.
func (w *world) declared(environment, name string) server.NewDeployment {
	return server.NewDeployment{
		Name: name, ClusterID: w.cluster.ID, Environment: environment,
		Spec: json.RawMessage(`{"helmRelease": {"releaseName": "shop", "chart": {"repository": "oci://charts", "name": "shop", "version": "1"}},
			"components": [{"name": "server", "replicasValue": "n", "selector": {}}]}`),
	}
}

func (w *world) create(name string) *server.Task {
	w.Helper()
	task, err := w.store.CreateDeployment(w.Context(), admin(user), w.declared("prod", name), nil)
	w.must(err)
	return task
}

// claim returns the id of the task that the worker gets, or "".
func (w *world) claim(worker string) string {
	w.Helper()
	assignment, err := w.store.ClaimTask(w.Context(), w.agent, w.cluster.ID, worker, lease)
	w.must(err)
	if assignment == nil {
		return ""
	}
	return assignment.Task.ID
}

func (w *world) task(id string) *server.Task {
	w.Helper()
	family, err := w.store.Task(w.Context(), admin(user), id)
	w.must(err)
	return family.Tasks.Find(id)
}

// writeOf runs the flow of a claimed task up to its recorded write.
func (w *world) writeOf(worker, id string) server.Instance {
	w.Helper()
	w.must(w.store.StartStep(w.Context(), w.agent, id, worker, w.task(id).Steps[0].ID))
	instance, err := w.store.RecordSpecWrite(w.Context(), w.agent, id, worker)
	w.must(err)
	w.must(w.store.FinishStep(w.Context(), w.agent, id, worker, w.task(id).Steps[0].ID, nil))
	return instance
}

func (w *world) finish(worker, id string) {
	w.Helper()
	w.must(w.store.FinishTask(w.Context(), w.agent, id, worker, server.TaskSuccess, nil))
}

func (w *world) scale(deploymentID string, replicas int, key *string) (*server.Task, error) {
	return w.store.RequestChange(w.Context(), admin(user), deploymentID, server.Change{
		Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "server", Replicas: replicas}},
	}, key)
}

func TestTasksComeBackAsTheyWereMade(t *testing.T) {
	onEach(t, func(w *world) {
		w.clock.Advance(time.Second)
		task := w.create("shop")
		w.want("the task", task, w.task(task.ID))
		w.want("what can be claimed", task.ID, w.claim("worker"))
		instance := w.writeOf("worker", task.ID)
		w.finish("worker", task.ID)

		written := *w.deployment(task.DeploymentID).WrittenInstanceID
		instances, err := w.store.WrittenInstances(w.Context(), []string{written})
		w.must(err)
		stored := instances[instance.ID]
		var want, got any
		w.must(json.Unmarshal(instance.Spec, &want))
		w.must(json.Unmarshal(stored.Spec, &got))
		w.want("the spec", want, got)
		done := w.task(task.ID)
		w.want("the write's attempts", 1, len(done.Steps[0].Attempts))
		w.want("the flow's status", server.TaskSuccess, done.Status)
		w.want("the operator's first step", server.StepRunning, done.Steps[1].Status)
	})
}

func TestTheStepsThatRunTheLongestAreFound(t *testing.T) {
	onEach(t, func(w *world) {
		oldest := func() []store.RunningStep {
			found, err := w.store.OldestRunningSteps(w.Context())
			w.must(err)
			return found
		}
		w.want("without tasks", 0, len(oldest()))
		for _, name := range []string{"shop", "blog"} {
			w.clock.Advance(time.Minute)
			task := w.create(name)
			w.want("what can be claimed", task.ID, w.claim("worker"))
			w.writeOf("worker", task.ID)
			w.finish("worker", task.ID)
		}
		running := oldest()
		w.want("kinds", 1, len(running))
		w.want("the kind", server.StepOperatorPhase, running[0].Kind)
		w.want("since", time.Minute, w.clock.Now().Sub(running[0].StartedAt))
	})
}

func TestW2ATaskIsClaimedByOneWorkerAlone(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		clock := storetest.NewClock()
		w := &world{T: t, store: storetest.Open(t, url, clock), clock: clock}
		other := storetest.Open(t, url, clock)
		w.cluster, w.agent = w.newCluster("c1")
		const tasks = 6
		made := make([]string, tasks)
		for i := range made {
			made[i] = w.create(names(i)).ID
		}
		claimed := make(chan string, 2*tasks)
		for range tasks {
			for worker, s := range map[string]*store.Store{"one": w.store, "other": other} {
				go func() {
					assignment, err := s.ClaimTask(t.Context(), w.agent, w.cluster.ID, worker, lease)
					if err != nil {
						t.Error(err)
					}
					if assignment == nil {
						claimed <- ""
						return
					}
					claimed <- assignment.Task.ID
				}()
			}
		}
		var got []string
		for range 2 * tasks {
			if id := <-claimed; id != "" {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		slices.Sort(made)
		w.want("the claimed tasks", made, got)
	})
}

func TestW3ALostWorkersTaskIsClaimedAgainCaseD04(t *testing.T) {
	onEach(t, func(w *world) {
		task := w.create("shop")
		w.want("the first claim", task.ID, w.claim("first"))
		w.want("a claim while the lease holds", "", w.claim("second"))
		w.clock.Advance(29 * time.Second)
		w.must(w.store.RenewTaskLease(w.Context(), w.agent, task.ID, "first", lease))
		w.clock.Advance(29 * time.Second)
		w.want("a claim after the renewal", "", w.claim("second"))
		w.clock.Advance(time.Second)
		w.want("a claim of the lost task", task.ID, w.claim("second"))
		w.wantCode(w.store.RenewTaskLease(w.Context(), w.agent, task.ID, "first", lease), server.CodeLeaseLost)
		w.wantCode(w.store.StartStep(w.Context(), w.agent, task.ID, "first", task.Steps[0].ID), server.CodeLeaseLost)

		w.clock.Advance(lease * time.Second)
		w.want("the third claim", task.ID, w.claim("third"))
		w.clock.Advance(lease * time.Second)
		w.want("a claim after three lost workers", "", w.claim("fourth"))
		lost := w.task(task.ID)
		w.want("the status", server.TaskFailed, lost.Status)
		w.want("the message", "worker lost", *lost.Message)
		err := w.store.FinishTask(w.Context(), w.agent, task.ID, "third", server.TaskSuccess, nil)
		w.wantCode(err, server.CodeConflict)
		w.want("the status after a late end", server.TaskFailed, w.task(task.ID).Status)
	})
}

func TestW3AHandedOverTaskIsNoLostOne(t *testing.T) {
	onEach(t, func(w *world) {
		task := w.create("shop")
		for _, worker := range []string{"first", "second", "third", "fourth"} {
			w.want("the claim of the "+worker, task.ID, w.claim(worker))
			w.must(w.store.RenewTaskLease(w.Context(), w.agent, task.ID, worker, 1))
			w.clock.Advance(time.Second)
		}
		w.want("the lost leases", 0, w.task(task.ID).LostLeases)
	})
}

func TestR14FlowsBelongToTheirOwnCluster(t *testing.T) {
	onEach(t, func(w *world) {
		task := w.create("shop")
		_, foreign := w.newCluster("c2")
		_, err := w.store.ClaimTask(w.Context(), foreign, w.cluster.ID, "worker", lease)
		w.wantCode(err, server.CodeForbidden)
		w.wantCode(w.store.StartStep(w.Context(), foreign, task.ID, "worker", task.Steps[0].ID), server.CodeForbidden)
		_, err = w.store.Task(w.Context(), foreign, task.ID)
		w.wantCode(err, server.CodeForbidden)
		w.wantCode(w.store.StartStep(w.Context(), w.agent, "none", "worker", "none"), server.CodeNotFound)
		_, err = w.store.ClaimTask(w.Context(), admin(user), "none", "worker", lease)
		w.wantCode(err, server.CodeNotFound)
	})
}

func TestALateCallForASettledTaskIsToldWhatBecameOfIt(t *testing.T) {
	onEach(t, func(w *world) {
		first := w.create("shop")
		w.claim("worker")
		w.writeOf("worker", first.ID)
		w.finish("worker", first.ID)
		second, err := w.scale(first.DeploymentID, 3, nil)
		w.must(err)
		w.claim("worker")
		w.writeOf("worker", second.ID)
		w.finish("worker", second.ID)

		w.must(w.store.FinishTask(w.Context(), w.agent, first.ID, "worker", server.TaskSuccess, nil))
		w.wantCode(w.store.RenewTaskLease(w.Context(), w.agent, first.ID, "worker", lease), server.CodeConflict)
		w.want("the superseded task's steps", server.StepCancelled, w.task(first.ID).Steps[1].Status)
	})
}

func TestARepeatedCallReturnsTheFirstTask(t *testing.T) {
	onEach(t, func(w *world) {
		key := "retry-1"
		create := func(caller server.Identity, name string) (*server.Task, error) {
			return w.store.CreateDeployment(w.Context(), caller, w.declared("prod", name), &key)
		}
		first, err := create(admin(user), "shop")
		w.must(err)
		again, err := create(admin(user), "shop")
		w.must(err)
		w.want("the repeated creation", first, again)
		_, err = create(admin("another"), "shop")
		w.wantCode(err, server.CodeConflict)
		other, err := create(admin(user), "blog")
		w.must(err)
		if other.ID == first.ID {
			w.Error("the key counts for another deployment, too")
		}

		w.claim("worker")
		w.writeOf("worker", first.ID)
		w.finish("worker", first.ID)
		scaled, err := w.scale(first.DeploymentID, 3, &key)
		w.must(err)
		repeated, err := w.scale(first.DeploymentID, 3, &key)
		w.must(err)
		w.want("the repeated scaling", scaled, repeated)
		_, err = w.scale(first.DeploymentID, 4, &key)
		w.wantCode(err, server.CodeConflict)

		nothing := "nothing"
		for range 2 {
			unchanged, err := w.scale(first.DeploymentID, 3, &nothing)
			w.must(err)
			if unchanged != nil {
				w.Errorf("a scaling to what is queued made task %s", unchanged.ID)
			}
		}
		w.clock.Advance(24 * time.Hour)
		next, err := w.scale(first.DeploymentID, 4, &key)
		w.must(err)
		w.want("whether a day later it is a call of its own", true, next != nil && next.ID != scaled.ID)
		empty := ""
		_, err = w.scale(first.DeploymentID, 5, &empty)
		w.wantCode(err, server.CodeInvalidInput)
	})
}

func TestANameIsUniqueInItsClusterAndEnvironment(t *testing.T) {
	onEach(t, func(w *world) {
		w.create("shop")
		try := func(declared server.NewDeployment) error {
			_, err := w.store.CreateDeployment(w.Context(), admin(user), declared, nil)
			return err
		}
		w.wantCode(try(w.declared("prod", "shop")), server.CodeConflict)
		w.must(try(w.declared("test", "shop")))
		// <environment>-<name> is the object's name: two ways to it are one too many.
		w.must(try(w.declared("prod", "my-shop")))
		w.wantCode(try(w.declared("prod-my", "shop")), server.CodeConflict)

		byHand := object("test-blog")
		w.deployments(byHand)
		w.wantCode(try(w.declared("test", "blog")), server.CodeConflict)

		elsewhere := w.declared("prod", "shop")
		second, _ := w.newCluster("c2")
		elsewhere.ClusterID = second.ID
		w.must(try(elsewhere))
		elsewhere.ClusterID = "none"
		w.wantCode(try(elsewhere), server.CodeNotFound)
		for _, name := range []string{"", "Shop", "-shop", "a.b", "shöp"} {
			w.wantCode(try(w.declared("prod", name)), server.CodeInvalidInput)
			w.wantCode(try(w.declared(name, "shop")), server.CodeInvalidInput)
		}
		w.wantCode(try(w.declared("prod", string(slices.Repeat([]byte("x"), 60)))), server.CodeInvalidInput)
	})
}

func TestANamespaceBelongsToOneDeploymentOfACluster(t *testing.T) {
	onEach(t, func(w *world) {
		in := func(name, namespace string) server.NewDeployment {
			declared := w.declared("prod", name)
			declared.Spec = bytes.Replace(declared.Spec, []byte("{"), []byte(`{"targetNamespace": "`+namespace+`", `), 1)
			return declared
		}
		try := func(declared server.NewDeployment) error {
			_, err := w.store.CreateDeployment(w.Context(), admin(user), declared, nil)
			return err
		}
		first := w.create("shop")
		w.want("the refusal", "spec.targetNamespace: the namespace prod-shop of the cluster belongs to deployment "+first.DeploymentID,
			try(in("blog", "prod-shop")).Error())
		w.must(try(in("blog", "elsewhere")))
		w.wantCode(try(in("wiki", "elsewhere")), server.CodeConflict)
		w.deployments(object("by-hand"))
		w.wantCode(try(in("wiki", "prod-by-hand")), server.CodeConflict)
		w.must(try(in("wiki", "of-its-own")))

		// One that is not written yet may still move, and frees its namespace.
		move := func(namespace string) error {
			_, err := w.store.RequestChange(w.Context(), admin(user), first.DeploymentID,
				server.Change{Kind: server.TaskUpdate, Spec: in("shop", namespace).Spec}, nil)
			return err
		}
		w.wantCode(move("free"), server.CodeInvalidInput) // its creation is queued with the other one
		w.claim("worker")
		w.must(w.store.FinishTask(w.Context(), w.agent, first.ID, "worker", server.TaskFailed, nil))
		w.wantCode(move("elsewhere"), server.CodeConflict)
		w.must(move("free"))
		w.must(try(in("chat", "prod-shop")))
		removal := server.Change{Kind: server.TaskDelete}
		_, err := w.store.RequestChange(w.Context(), admin(user), first.DeploymentID, removal, nil)
		w.must(err)
		w.must(try(in("docs", "free")))
		w.must(try(in("shop", "of-the-second-shop")))
	})
}

func TestADeletedDeploymentFreesItsName(t *testing.T) {
	onEach(t, func(w *world) {
		first := w.create("shop")
		w.claim("worker")
		w.writeOf("worker", first.ID)
		w.finish("worker", first.ID)
		removal, err := w.store.RequestChange(w.Context(), admin(user), first.DeploymentID, server.Change{Kind: server.TaskDelete}, nil)
		w.must(err)
		w.want("the claim", removal.ID, w.claim("worker"))
		w.must(w.store.StartStep(w.Context(), w.agent, removal.ID, "worker", removal.Steps[0].ID))
		w.must(w.store.RecordDeletionRequest(w.Context(), w.agent, removal.ID, "worker"))
		w.must(w.store.FinishStep(w.Context(), w.agent, removal.ID, "worker", removal.Steps[0].ID, nil))
		w.finish("worker", removal.ID)
		w.want("the status", server.DeploymentDeleting, w.deployment(first.DeploymentID).Status)
		w.clock.Advance(5 * time.Second)
		// The operator leaves the object for a moment, so that it is seen that it is
		// deleted.
		last, namespace := object("prod-shop"), "prod-shop"
		last.DeploymentID, last.TargetNamespace = first.DeploymentID, &namespace
		last.Phase, last.DisplayState = "Deleted", "Deleted"
		w.deployments(last)
		w.want("the status", server.DeploymentDeleted, w.deployment(first.DeploymentID).Status)

		// One that was applied again, from a backup, is there to stay.
		back := last
		back.UID, back.Phase, back.DisplayState = "uid-of-the-backup", "Ready", "Running"
		w.deployments(back)
		w.want("the status", server.DeploymentDeleted, w.deployment(first.DeploymentID).Status)
		_, err = w.store.CreateDeployment(w.Context(), admin(user), w.declared("prod", "shop"), nil)
		w.wantCode(err, server.CodeConflict)
		elsewhere := w.declared("prod", "blog")
		elsewhere.Spec = json.RawMessage(strings.Replace(string(elsewhere.Spec), "{", `{"targetNamespace": "prod-shop", `, 1))
		_, err = w.store.CreateDeployment(w.Context(), admin(user), elsewhere, nil)
		w.wantCode(err, server.CodeConflict)

		w.deployments(last)
		if again := w.create("shop"); again.DeploymentID == first.DeploymentID {
			w.Error("the deleted deployment was used again")
		}
	})
}

func TestAnAdoptedDeploymentIsDeletedWhereItIs(t *testing.T) {
	onEach(t, func(w *world) {
		odd := object("shop")
		odd.Namespace = "team-a"
		w.deployments(odd)
		_, err := w.scale("uid-shop", 3, nil)
		w.wantCode(err, server.CodeConflict)
		_, err = w.store.RequestChange(w.Context(), admin(user), "uid-shop", server.Change{Kind: server.TaskDelete}, nil)
		w.must(err)
		assignment, err := w.store.ClaimTask(w.Context(), w.agent, w.cluster.ID, "worker", lease)
		w.must(err)
		w.want("the object", []string{"team-a", "shop"}, []string{assignment.Namespace, assignment.Name})
	})
}

// TestR8CaseD05TwoServersMakeOneAttempt lets two servers apply reports at once that
// both show the operator working again after a failure (case D05).
func TestR8CaseD05TwoServersMakeOneAttempt(t *testing.T) {
	storetest.Run(t, func(t *testing.T, url string) {
		clock := storetest.NewClock()
		w := &world{T: t, store: storetest.Open(t, url, clock), clock: clock}
		other := storetest.Open(t, url, clock)
		w.cluster, w.agent = w.newCluster("c1")
		w.session = w.open("kube-c1", "agent-0")
		task := w.create("shop")
		w.claim("worker")
		instance := w.writeOf("worker", task.ID)
		w.finish("worker", task.ID)
		seen := object("shop")
		seen.DeploymentID, seen.InstanceID = task.DeploymentID, instance.ID
		seen.Phase, seen.DisplayState = "Failed", "Error"
		w.deployments(seen)

		seen.Phase, seen.DisplayState = "CreatingPrerequisites", "Deploying"
		done := make(chan error, 2)
		for i, s := range []*store.Store{w.store, other} {
			go func() {
				_, err := s.ApplyDeploymentReport(t.Context(), w.agent, server.DeploymentReport{
					Header: w.headerOf(int64(101 + i)), Deployments: []server.DeploymentStatus{seen},
				})
				done <- err
			}()
		}
		w.must(<-done)
		w.must(<-done)
		attempts := w.task(task.ID).Steps[1].Attempts
		got := make([]server.StepStatus, len(attempts))
		for i := range attempts {
			got[i] = attempts[i].Status
		}
		w.want("the attempts", []server.StepStatus{server.StepFailed, server.StepRunning}, got)
	})
}

// TestR9AFailedDeletionIsMovedThoughALaterOneWaits loads the delete task that
// reports move, which is the one that was recorded last and not the newest.
func TestR9AFailedDeletionIsMovedThoughALaterOneWaits(t *testing.T) {
	onEach(t, func(w *world) {
		task := w.create("shop")
		w.claim("worker")
		instance := w.writeOf("worker", task.ID)
		w.finish("worker", task.ID)
		seen := object("shop")
		seen.DeploymentID, seen.InstanceID = task.DeploymentID, instance.ID
		w.deployments(seen)

		remove := func() *server.Task {
			removal, err := w.store.RequestChange(w.Context(), admin(user), task.DeploymentID, server.Change{Kind: server.TaskDelete}, nil)
			w.must(err)
			return removal
		}
		first := remove()
		w.claim("worker")
		w.must(w.store.StartStep(w.Context(), w.agent, first.ID, "worker", first.Steps[0].ID))
		w.must(w.store.RecordDeletionRequest(w.Context(), w.agent, first.ID, "worker"))
		w.must(w.store.FinishStep(w.Context(), w.agent, first.ID, "worker", first.Steps[0].ID, nil))
		w.finish("worker", first.ID)
		deleting := w.clock.Now()
		seen.DeletionRequestedAt, seen.Phase, seen.DisplayState = &deleting, "Deleting", "Error"
		w.deployments(seen)
		w.want("the removal", server.StepFailed, w.task(first.ID).Steps[1].Status)

		second := remove()
		if second.ID == first.ID {
			w.Fatal("the failed deletion is asked for no more")
		}
		w.clock.Advance(5 * time.Second)
		w.deployments()
		w.want("the removal that was recorded", server.StepSucceeded, w.task(first.ID).Steps[1].Status)
		w.want("the status", server.DeploymentDeleted, w.deployment(task.DeploymentID).Status)
	})
}
