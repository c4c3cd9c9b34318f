// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/styrmin/styrmin/server"
)

// scene is a cluster in which time goes by: what it holds is reported every few
// seconds.
type scene struct {
	*stage
	objects map[string]server.DeploymentStatus
	pods    map[string][]server.PodStatus
}

func newScene(s *stage) *scene {
	return &scene{stage: s, objects: map[string]server.DeploymentStatus{}, pods: map[string][]server.PodStatus{}}
}

// pass lets time go by and reports.
func (c *scene) pass(by time.Duration) {
	c.Helper()
	c.clock.Advance(by)
	what := seen{pods: c.pods}
	for _, object := range c.objects {
		what.objects = append(what.objects, object)
	}
	slices.SortFunc(what.objects, func(a, b server.DeploymentStatus) int { return cmp.Compare(a.Name, b.Name) })
	c.reports(what)
}

// put places an object with its pods.
func (c *scene) put(object server.DeploymentStatus, pods ...server.PodStatus) {
	c.objects[object.Name] = object
	c.pods[*object.TargetNamespace] = pods
}

// healthy places a deployment that was applied by hand and runs.
func (c *scene) healthy(name string, replicas int) {
	object := c.object(name)
	object.Components = []server.ComponentStatus{{Name: "server", Desired: replicas, Ready: replicas, State: "Running"}}
	object.Conditions = c.conditions("True", "True", "True", "True")
	c.put(object, c.replicas(name+"-server", replicas)...)
}

// replicas are the healthy pods of a component.
func (c *scene) replicas(name string, n int) []server.PodStatus {
	pods := make([]server.PodStatus, n)
	for i := range pods {
		pods[i] = c.pod(fmt.Sprintf("%s-7d9f6c5b8-%05x", name, 0x1f3a7+i*7919))
		node, component := fmt.Sprintf("worker-%d", i%3+1), "server"
		pods[i].Node, pods[i].Component = &node, &component
	}
	return pods
}

// conditions are the four of a StyrminDeployment.
func (c *scene) conditions(states ...string) []server.Condition {
	at := c.clock.Now()
	kinds := []string{"PrerequisitesReady", "HelmReleaseReady", "ServicesReady", "Ready"}
	conditions := make([]server.Condition, 0, len(kinds))
	for i, kind := range kinds {
		reason := map[string]string{"True": "Succeeded", "False": "Failed", "Unknown": "Progressing"}[states[i]]
		conditions = append(conditions, server.Condition{Type: kind, Status: states[i], Reason: &reason, LastTransitionTime: at})
	}
	return conditions
}

// rollout reports the phases of an instance up to the end, so many seconds each.
func (c *scene) rollout(object server.DeploymentStatus, pods ...server.PodStatus) {
	c.Helper()
	for _, phase := range []string{"CreatingPrerequisites", "CreatingHelmRelease", "CreatingServices"} {
		object.Phase, object.DisplayState = phase, "Deploying"
		c.put(object, pods...)
		c.pass(7 * time.Second)
	}
	object.Phase, object.DisplayState = "Ready", "Running"
	object.Conditions = c.conditions("True", "True", "True", "True")
	c.put(object, pods...)
	c.pass(11 * time.Second)
}

// created makes a deployment through the server that runs.
func (c *scene) created(name string) (id string, object server.DeploymentStatus) {
	c.Helper()
	task := c.create(name, shopSpec)
	c.claim(task.ID)
	instance := c.write(task.ID)
	c.end(task.ID)
	object = c.written(task.DeploymentID, name, instance, "Ready", "Running")
	c.rollout(object, c.replicas(name+"-server", 4)...)
	return task.DeploymentID, c.objects[object.Name]
}

// stopHook runs the hook step that stops the server before an upgrade.
func (c *scene) stopHook(upgrade string, object server.DeploymentStatus) {
	c.Helper()
	step := "Pre-upgrade"
	c.start(upgrade, step)
	hook, err := c.store.StartHookTask(c.Context(), c.agent, upgrade, worker, c.step(upgrade, step),
		server.Change{Kind: server.TaskStopComponents, Components: []string{"server"}})
	c.must(err)
	c.claim(hook)
	instance := c.write(hook)
	c.end(hook)
	object.InstanceID = instance.ID
	object.Components = []server.ComponentStatus{{Name: "server", State: "Stopped"}, {Name: "database", Desired: 1, Ready: 1, State: "Running"}}
	c.rollout(object, c.replicas("database", 1)...)
	c.finish(upgrade, step)
}

const pullError = `Back-off pulling image "registry.example.com/checkout-server:2.5.0": ErrImagePull: failed to resolve reference: not found`

// failedUpgrade makes a deployment whose upgrade fails for an image that does not
// exist, for the second time.
func (c *scene) failedUpgrade(name string) string {
	c.Helper()
	id, object := c.created(name)
	c.pass(26 * time.Hour)
	scale := c.request(id, server.Change{Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "server", Replicas: 4}}})
	c.claim(scale.ID)
	object.InstanceID = c.write(scale.ID).ID
	c.end(scale.ID)
	object.Components[0].Desired, object.Components[0].Ready = 4, 4
	c.rollout(object, c.replicas(name+"-server", 4)...)
	c.pass(3 * time.Hour)
	upgrade := c.request(id, server.Change{Kind: server.TaskUpdateVersion, Version: "2.5.0"}).ID
	c.pass(2 * time.Second)
	c.claim(upgrade)
	c.stopHook(upgrade, object)
	object.InstanceID = c.write(upgrade).ID
	object.Components = []server.ComponentStatus{{Name: "server", Ready: 1, Desired: 4, State: "Error"}, {Name: "database", Desired: 1, Ready: 1, State: "Running"}}
	message := "Helm upgrade failed: timed out waiting for the workloads: Deployment/server: 1 out of 4 new replicas have been updated"
	for _, state := range []string{"Deploying", "Error", "Deploying", "Error"} {
		object.Phase, object.DisplayState, object.Message = "CreatingHelmRelease", state, nil
		object.Conditions = c.conditions("True", "Unknown", "Unknown", "Unknown")
		if state == "Error" {
			object.Message = &message
			object.Conditions = c.conditions("True", "False", "Unknown", "False")
			object.Conditions[1].Message = &message
		}
		c.put(object, c.pullFailures(name)...)
		c.pass(34 * time.Second)
	}
	failed := "the rollout failed"
	c.must(c.store.FinishTask(c.Context(), c.agent, upgrade, worker, server.TaskFailed, &failed))
	c.pass(5 * time.Second)
	return id
}

func (c *scene) pullFailures(name string) []server.PodStatus {
	pods := c.replicas(name+"-server", 4)
	reason, message, image := "ImagePullBackOff", pullError, "registry.example.com/checkout-server:2.5.0"
	for i := range pods[:3] {
		pod := &pods[i]
		pod.Status, pod.Ready, pod.ReadyContainers, pod.Phase = reason, false, 0, "Pending"
		pod.CreatedAt = c.clock.Now().Add(-90 * time.Second)
		container := &pod.Containers[0]
		container.State, container.Ready, container.Reason, container.Message, container.Image = server.ContainerStateWaiting, false, &reason, &message, &image
	}
	return append(pods, c.pod(name+"-database-0"), c.crashing(name+"-metrics-0", "back-off 5m0s restarting failed container"))
}

// midRollout makes a deployment that is rolling out.
func (c *scene) midRollout(name string) string {
	c.Helper()
	id, object := c.created(name)
	c.pass(time.Hour)
	task := c.request(id, server.Change{Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "server", Replicas: 5}}})
	c.claim(task.ID)
	object.InstanceID = c.write(task.ID).ID
	c.end(task.ID)
	for _, phase := range []string{"CreatingPrerequisites", "CreatingHelmRelease", "CreatingServices"} {
		object.Phase, object.DisplayState = phase, "Deploying"
		object.Conditions = c.conditions("True", "True", "Unknown", "Unknown")
		object.Components = []server.ComponentStatus{{Name: "server", Desired: 5, Ready: 3, State: "Progressing"}, {Name: "database", Desired: 1, Ready: 1, State: "Running"}}
		pods := append(c.replicas(name+"-server", 5), c.pod(name+"-database-0"))
		for i := range pods[:2] {
			creating := "ContainerCreating"
			pods[i].Status, pods[i].Ready, pods[i].ReadyContainers, pods[i].Phase = creating, false, 0, "Pending"
			pods[i].CreatedAt = c.clock.Now()
			pods[i].Containers[0].State, pods[i].Containers[0].Reason, pods[i].Containers[0].Ready = server.ContainerStateWaiting, &creating, false
		}
		c.put(object, pods...)
		c.pass(4 * time.Second)
	}
	return id
}

// crowd makes a deployment of many pods, some of which fail.
func (c *scene) crowd(name string, n int) string {
	object := c.object(name)
	object.Components = []server.ComponentStatus{{Name: "server", Desired: n, Ready: n - n/40, State: "Progressing"}}
	pods := c.replicas(name+"-server", n)
	for i := range pods {
		switch {
		case i%40 == 7:
			pods[i] = c.crashing(pods[i].Name, "back-off 5m0s restarting failed container=server")
		case i%53 == 5:
			pods[i].Ready, pods[i].Phase, pods[i].Status = false, "Pending", "Pending"
			pods[i].Node = nil
		case i%97 == 3:
			at := c.clock.Now()
			pods[i].DeletionRequestedAt, pods[i].Status = &at, "Terminating"
		}
	}
	c.put(object, pods...)
	return object.DeploymentID
}

// everyday is a landscape of three clusters as on many days: most runs, one
// upgrade has failed, one rolls out, and one cluster is silent.
func everyday(t testing.TB) (s *stage, failed, rolling string) {
	s = newStage(t)
	north := newScene(s)
	for name, replicas := range map[string]int{"search": 3, "mail": 2, "invoices": 2, "catalog": 6, "sessions": 3} {
		north.healthy(name, replicas)
	}
	ingress := s.object("ingress")
	ingress.Internal = true
	ingress.Components = []server.ComponentStatus{{Name: "traefik", Desired: 2, Ready: 2, State: "Running"}}
	north.put(ingress, north.replicas("traefik", 2)...)
	north.pass(0)
	edge := newScene(s.at(s.newSite("edge")))
	edge.healthy("kiosk", 3)
	edge.healthy("signage", 1)
	north.pass(50 * time.Hour)
	failed = north.failedUpgrade("checkout")
	rolling = north.midRollout("shop")
	edge.pass(0)
	north.pass(7*time.Minute + 20*time.Second)
	south := newScene(s.at(s.newSite("south")))
	south.healthy("reports", 4)
	south.healthy("warehouse", 12)
	south.pass(2 * time.Second)
	north.pass(2 * time.Second)
	return s, failed, rolling
}
