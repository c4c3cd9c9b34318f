// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"

	"github.com/styrmin/styrmin/server"
	"github.com/styrmin/styrmin/server/store"
)

func (w *world) podNames(filter store.PodStatusFilter, page store.Page) (names []string, last *string) {
	w.Helper()
	pods, err := w.store.PodStatuses(w.Context(), filter, page)
	w.must(err)
	names = make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Namespace + "/" + pods[i].Name
		cursor := pods[i].Cursor()
		last = &cursor
	}
	return names, last
}

// TestPagesNeitherRepeatNorHideRows reads page by page while rows come and go
// before and behind the reader's place.
func TestPagesNeitherRepeatNorHideRows(t *testing.T) {
	onEach(t, func(w *world) {
		w.pods(whole("a", "a1", pod("p1"), pod("p3"), pod("p5")), whole("b", "b1", pod("p1"), pod("p2")))
		first, after := w.podNames(store.PodStatusFilter{}, store.Page{First: 2})
		w.want("the first page", []string{"a/p1", "a/p3"}, first)
		w.pods(whole("a", "a2", pod("p2"), pod("p4"), pod("p5")), whole("b", "b1", pod("p1"), pod("p2")))
		second, after := w.podNames(store.PodStatusFilter{}, store.Page{First: 2, After: after})
		w.want("the second page", []string{"a/p4", "a/p5"}, second)
		third, after := w.podNames(store.PodStatusFilter{}, store.Page{First: 3, After: after})
		w.want("the last page, which is not full", []string{"b/p1", "b/p2"}, third)
		fourth, _ := w.podNames(store.PodStatusFilter{}, store.Page{First: 3, After: after})
		w.want("the page after it", []string{}, fourth)

		for name, page := range map[string]store.Page{
			"a page of nothing":      {First: 0},
			"a page of everything":   {First: store.MaxPage + 1},
			"a cursor that is none":  {First: 1, After: new(string)},
			"a cursor with a typing": {First: 1, After: func() *string { s := *after + "x"; return &s }()},
		} {
			_, err := w.store.PodStatuses(w.Context(), store.PodStatusFilter{}, page)
			if server.CodeOf(err) != server.CodeInvalidInput {
				w.Errorf("%s: %v", name, err)
			}
		}

		w.deployments(object("x"), object("y"), object("z"))
		statuses, err := w.store.DeploymentStatuses(w.Context(), store.DeploymentStatusFilter{}, store.Page{First: 2})
		w.must(err)
		w.want("the first objects", []string{"x", "y"}, []string{statuses[0].Name, statuses[1].Name})
		cursor := statuses[1].Cursor()
		statuses, err = w.store.DeploymentStatuses(w.Context(), store.DeploymentStatusFilter{}, store.Page{First: 2, After: &cursor})
		w.must(err)
		w.want("the objects after them", 1, len(statuses))
	})
}

// TestFiltersPickRowsCaseA09: a pod is healthy by its Ready condition, whatever
// its phase and its containers say; one that has succeeded is, too.
func TestFiltersPickRowsCaseA09(t *testing.T) {
	onEach(t, func(w *world) {
		lost, done := pod("lost"), pod("done")
		lost.Ready = false // phase and containers still say Running
		done.Ready, done.Phase = false, "Succeeded"
		w.pods(whole("prod-shop", "n1", pod("fine"), lost, done), whole("other", "o1", pod("x")))
		w.deployments(object("shop"))
		yes, no, namespace, deployment, none := true, false, "prod-shop", "uid-shop", "none"
		for name, test := range map[string]struct {
			filter store.PodStatusFilter
			want   []string
		}{
			"all":                   {store.PodStatusFilter{}, []string{"other/x", "prod-shop/done", "prod-shop/fine", "prod-shop/lost"}},
			"of a namespace":        {store.PodStatusFilter{Namespace: &namespace}, []string{"prod-shop/done", "prod-shop/fine", "prod-shop/lost"}},
			"of a deployment":       {store.PodStatusFilter{DeploymentID: &deployment}, []string{"prod-shop/done", "prod-shop/fine", "prod-shop/lost"}},
			"unhealthy":             {store.PodStatusFilter{Unhealthy: &yes}, []string{"prod-shop/lost"}},
			"healthy":               {store.PodStatusFilter{Unhealthy: &no, DeploymentID: &deployment}, []string{"prod-shop/done", "prod-shop/fine"}},
			"of the cluster":        {store.PodStatusFilter{ClusterID: &w.cluster.ID, Unhealthy: &yes}, []string{"prod-shop/lost"}},
			"of an unknown cluster": {store.PodStatusFilter{ClusterID: &none}, []string{}},
		} {
			got, _ := w.podNames(test.filter, store.Page{First: 10})
			w.want("the pods "+name, test.want, got)
		}

		w.create("shop-2")
		name, environment, running, failed := "shop-2", "prod", server.DeploymentRunning, server.DeploymentFailed
		for what, test := range map[string]struct {
			filter store.DeploymentFilter
			want   int
		}{
			"all":                   {store.DeploymentFilter{}, 2},
			"by name":               {store.DeploymentFilter{Name: &name}, 1},
			"by environment":        {store.DeploymentFilter{Environment: &environment}, 1},
			"by status":             {store.DeploymentFilter{Status: &running}, 1},
			"by a status of none":   {store.DeploymentFilter{Status: &failed}, 0},
			"that are internal":     {store.DeploymentFilter{Internal: &yes}, 0},
			"that are not internal": {store.DeploymentFilter{Internal: &no, ClusterID: &w.cluster.ID}, 2},
		} {
			got, err := w.store.Deployments(w.Context(), test.filter)
			w.must(err)
			w.want("the deployments "+what, test.want, len(got))
		}
	})
}
