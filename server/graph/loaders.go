// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"context"
	"time"

	"github.com/vikstrous/dataloadgen"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

// batchWait is how long a field of one deployment waits for the same field of
// the others.
const batchWait = time.Millisecond

// loaders read the fields of all deployments of an answer at once, instead of
// one statement each. They belong to one operation.
type loaders struct {
	observed  *dataloadgen.Loader[string, *server.DeploymentStatus]
	pods      *dataloadgen.Loader[string, []server.PodStatus]
	instances *dataloadgen.Loader[string, *server.Instance]
	tasks     *dataloadgen.Loader[newestTasks, *store.DeploymentTasks]
}

// newestTasks asks for the first of a deployment's tasks.
type newestTasks struct {
	deployment *server.Deployment
	first      int
}

type loadersKey struct{}

func withLoaders(ctx context.Context, db *store.Store) context.Context {
	wait := dataloadgen.WithWait(batchWait)
	return context.WithValue(ctx, loadersKey{}, &loaders{
		observed:  dataloadgen.NewMappedLoader(db.ObservedOf, wait),
		pods:      dataloadgen.NewMappedLoader(db.PodsOf, wait),
		instances: dataloadgen.NewMappedLoader(db.WrittenInstances, wait),
		tasks: dataloadgen.NewMappedLoader(func(ctx context.Context, keys []newestTasks) (map[newestTasks]*store.DeploymentTasks, error) {
			return loadTasks(ctx, db, keys)
		}, wait),
	})
}

// loadersOf returns those of the operation.
func loadersOf(ctx context.Context) *loaders { return ctx.Value(loadersKey{}).(*loaders) }

// loadTasks reads the tasks that are asked for, those of equal length together.
func loadTasks(ctx context.Context, db *store.Store, keys []newestTasks) (map[newestTasks]*store.DeploymentTasks, error) {
	byLength := map[int][]server.Deployment{}
	for _, key := range keys {
		byLength[key.first] = append(byLength[key.first], *key.deployment)
	}
	tasks := make(map[newestTasks]*store.DeploymentTasks, len(keys))
	for first, deployments := range byLength {
		found, err := db.TasksOf(ctx, deployments, first)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if key.first == first {
				tasks[key] = found[key.deployment.ID]
			}
		}
	}
	return tasks, nil
}
