// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/styrmin/styrmin/test/system"
)

const (
	// storeName and storeEnvironment name a deployment that is made through the API.
	storeName        = "store"
	storeEnvironment = "staging"
	storeObject      = storeEnvironment + "-" + storeName
)

// task is a task as a user reads it.
type task struct {
	ID, Status, Result, FailureReason string
	Steps                             []struct {
		Name, Kind, Status string
		Tasks              []struct{ Status, Result string }
	}
}

// TestW1TasksThroughTheAPI is the life of an application that is changed through
// the API alone: the agent's worker runs the flows. It is upgraded with hooks that
// stop and start its server.
func TestW1TasksThroughTheAPI(t *testing.T) {
	t.Parallel() // It mostly waits, and disturbs nobody.
	deleteAfterwards(t, storeName)
	id, created := createLikeSample(t, storeName, storeEnvironment)
	waitForTask(t, created, "SUCCEEDED", "")
	eventually(t, time.Minute, "the store runs", storeHas(id, "RUNNING", "2.4.1"))
	watched := watchPage(t, id)
	watched.hasStatus("RUNNING")

	t.Run("an upgrade is RUNNING only when its task has finished", func(t *testing.T) {
		watched.record()
		upgrade := changeDeployment(t, id, `updateDeploymentVersion(id: $id, version: "2.5.0")`)
		early := watchForRunning(t, id, upgrade, false)
		finished := waitForTask(t, upgrade, "SUCCEEDED", "")
		for _, step := range finished.Steps {
			if step.Kind == "HOOK" && (len(step.Tasks) != 1 || step.Tasks[0].Result != "SUCCEEDED") {
				t.Errorf("step %q has started %+v", step.Name, step.Tasks)
			}
		}
		eventually(t, time.Minute, "the store runs in its new version", storeHas(id, "RUNNING", "2.5.0"))
		if err := early(); err != nil {
			t.Error(err)
		}
		watched.shows("2.5.0")
		watched.hasStatus("RUNNING")
		watched.neverRanEarly()
	})

	t.Run("jobs run in its namespace, and one that fails says why", func(t *testing.T) {
		waitForTask(t, changeDeployment(t, id, `runJob(deploymentId: $id, job: "migrate")`), "SUCCEEDED", "")
		waitForTask(t, changeDeployment(t, id, `runJob(deploymentId: $id, job: "break")`), "FAILED", "container main: ")
		watched.shows("container main: ")
	})

	t.Run("it is deleted with all that is its own", func(t *testing.T) {
		waitForTask(t, changeDeployment(t, id, "deleteDeployment(id: $id)"), "SUCCEEDED", "")
		eventually(t, time.Minute, "it is DELETED", storeHas(id, "DELETED", "2.5.0"))
		watched.hasStatus("DELETED")
		err := sys.Client.Get(t.Context(), client.ObjectKey{Name: storeObject}, &corev1.Namespace{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("its namespace is left: %v", err)
		}
	})
}

// createLikeSample makes a deployment like the sample, with hooks and jobs, and
// returns its id and the task.
func createLikeSample(t *testing.T, name, environment string) (id, taskID string) {
	t.Helper()
	objects, err := system.Load("../../config/samples/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec, ok := objects[0].Object["spec"].(map[string]any)
	if !ok {
		t.Fatal("the sample has no spec")
	}
	job := func(name, image string) any {
		return map[string]any{"name": name, "template": map[string]any{
			"backoffLimit": 0,
			"template": map[string]any{"spec": map[string]any{
				"restartPolicy": "Never", "containers": []any{map[string]any{"name": "main", "image": image}},
			}},
		}}
	}
	for path, value := range map[string]any{
		"environment":                  environment,
		"targetNamespace":              environment + "-" + name,
		"helmRelease.releaseName":      name,
		"helmRelease.chart.repository": sys.ChartsURL,
		"services":                     []any{},
		"jobs":                         []any{job("migrate", "registry.example/migrations:1"), job("break", "registry.example/migrations-fails:1")},
		"hooks": map[string]any{"upgrade": map[string]any{
			"pre":  []any{map[string]any{"stopComponents": []any{"server"}}},
			"post": []any{map[string]any{"startComponents": []any{"server"}}},
		}},
	} {
		setNested(spec, value, strings.Split(path, ".")...)
	}
	answer := struct {
		Task struct{ ID, DeploymentID string }
	}{}
	err = sys.Query(t.Context(), `mutation ($cluster: ID!, $name: String!, $environment: String!, $spec: JSON!) {
		task: createDeployment(input: {name: $name, clusterId: $cluster, environment: $environment, spec: $spec}) { id deploymentId } }`,
		map[string]any{"cluster": sys.ClusterID, "name": name, "environment": environment, "spec": spec}, &answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Task.DeploymentID, answer.Task.ID
}

// setNested is unstructured's, for values that are no copies of an API's.
func setNested(object map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		object, _ = object[key].(map[string]any)
	}
	object[path[len(path)-1]] = value
}

// changeDeployment asks for a change and returns its task.
func changeDeployment(t *testing.T, id, call string) string {
	t.Helper()
	answer := struct{ Task struct{ ID string } }{}
	if err := sys.Query(t.Context(), "mutation ($id: ID!) { task: "+call+" { id } }", map[string]any{"id": id}, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Task.ID
}

func readTask(ctx context.Context, id string) (task, error) {
	answer := struct{ Task task }{}
	err := sys.Query(ctx, `query ($id: ID!) { task(id: $id) {
		id status result failureReason steps { name kind status tasks { status result } } } }`, map[string]any{"id": id}, &answer)
	return answer.Task, err
}

// waitForTask waits until the task has a result, which must be that.
func waitForTask(t *testing.T, id, result, reason string) task {
	t.Helper()
	var read task
	eventually(t, 4*time.Minute, "task "+id+" has a result", func(ctx context.Context) (err error) {
		if read, err = readTask(ctx, id); err == nil && read.Result == "RUNNING" {
			err = fmt.Errorf("%+v", read)
		}
		return err
	})
	if read.Result != result || !strings.Contains(read.FailureReason, reason) {
		t.Fatalf("want %s %q, got %+v", result, reason, read)
	}
	return read
}

func storeStatus(ctx context.Context, id string) (status, version string, err error) {
	answer := struct {
		Deployment struct{ Status, Version string }
	}{}
	err = sys.Query(ctx, `query ($id: ID!) { deployment(id: $id) { status version } }`, map[string]any{"id": id}, &answer)
	return answer.Deployment.Status, answer.Deployment.Version, err
}

// storeHas checks status and version of the store.
func storeHas(id, wantStatus, wantVersion string) func(context.Context) error {
	return func(ctx context.Context) error {
		status, version, err := storeStatus(ctx, id)
		if err == nil && (status != wantStatus || version != wantVersion) {
			err = fmt.Errorf("want %s in version %s, got %s in %s", wantStatus, wantVersion, status, version)
		}
		return err
	}
}

// watchForRunning watches a deployment while a task changes it. The returned
// function ends that, and returns an error if the deployment was ever RUNNING
// between the task's first write and its end. begun tells that it has written.
func watchForRunning(t *testing.T, id, taskID string, begun bool) func() error {
	ctx, cancel := context.WithCancel(t.Context())
	var early atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			// The status first: had the flow ended between the two, that would be well.
			status, _, err := storeStatus(ctx, id)
			begun = begun || err == nil && status != "RUNNING"
			if begun && err == nil && status == "RUNNING" {
				if read, err := readTask(ctx, taskID); err == nil && read.Status == "RUNNING" {
					early.Store(true)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return func() error {
		cancel()
		<-done
		if early.Load() {
			return errors.New("the deployment was RUNNING in the middle of the upgrade")
		}
		return nil
	}
}
