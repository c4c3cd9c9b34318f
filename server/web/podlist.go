// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/styrmin/styrmin/server"
)

// podsView is the pods of a deployment, as a grid and as a table.
type podsView struct {
	Grid []podCell
	Rows []podRow
	// Count is how many there are; more than Rows where not all are shown.
	Count int
	// Summary says how many are in which state.
	Summary string
	Order   podOrder
	Columns []podColumn
}

// podCell is a pod in the grid.
type podCell struct {
	Name, Status string
	Tone         tone
}

type podRow struct {
	Name, Namespace string
	Component       string
	Status          string
	Tone            tone
	Message         string
	Ready           string
	Restarts        int
	Node            string
	Created         moment
	Containers      []containerView
	// End is how the newest container that ended did.
	End *endView
}

type containerView struct {
	Name   string
	Kind   string
	Tone   tone
	State  string
	Image  string
	Detail string
}

// endView is the end of a container's run.
type endView struct {
	Container, Reason string
	At                *moment
}

// podOrder is the column by which the table is sorted; empty: problems first.
type podOrder struct {
	Column     string
	Descending bool
}

const (
	sortParameter       = "sort"
	descendingParameter = "desc"
)

func podOrderOf(query url.Values) podOrder {
	return podOrder{Column: query.Get(sortParameter), Descending: query.Get(descendingParameter) != ""}
}

// podColumn is a column that the table can be sorted by.
type podColumn struct {
	Name, Title string
	// Address sorts by it; by the one that sorts already in the other direction.
	Address string
	// Sorted is ascending, descending or none.
	Sorted string
	Number bool
}

type podCompare func(a, b *podRow) int

// podColumns are the columns of the table. What is best known by its worst comes
// first in descending order.
var podColumns = []struct {
	name, title string
	compare     podCompare
	number      bool
}{
	{name: "status", title: "Status", compare: func(a, b *podRow) int { return cmp.Compare(podRanks[a.Tone], podRanks[b.Tone]) }},
	{name: "pod", title: "Pod", compare: func(a, b *podRow) int { return cmp.Compare(a.Name, b.Name) }},
	{name: "containers", title: "Containers", compare: func(a, b *podRow) int { return cmp.Compare(a.Ready, b.Ready) }},
	{name: "restarts", title: "Restarts", number: true, compare: func(a, b *podRow) int { return cmp.Compare(a.Restarts, b.Restarts) }},
	{name: "end", title: "Last end", compare: func(a, b *podRow) int { return compareEnds(a.End, b.End) }},
	{name: "node", title: "Node", compare: func(a, b *podRow) int { return cmp.Compare(a.Node, b.Node) }},
	{name: "age", title: "Age", number: true, compare: func(a, b *podRow) int { return b.Created.At.Compare(a.Created.At) }},
}

// podRanks order the tones of pods by how much they need someone.
var podRanks = map[tone]int{toneBad: 0, toneBusy: 1, toneGone: 2, toneOK: 3, toneWait: 4}

func compareEnds(a, b *endView) int {
	at := func(end *endView) int64 {
		if end == nil || end.At == nil {
			return 0
		}
		return end.At.At.UnixNano()
	}
	return cmp.Compare(at(a), at(b))
}

func podsOf(view *server.DeploymentView, order podOrder, now clock) podsView {
	shown := podsView{Count: view.PodCount, Order: order}
	for i := range view.Pods {
		shown.Rows = append(shown.Rows, podRowOf(&view.Pods[i], now))
	}
	byName := func(a, b podRow) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	}
	slices.SortFunc(shown.Rows, byName)
	for i := range shown.Rows {
		row := &shown.Rows[i]
		shown.Grid = append(shown.Grid, podCell{Name: row.Name, Status: row.Status, Tone: row.Tone})
	}
	shown.Summary = podSummary(shown.Rows)
	shown.sort(view.Deployment.ID)
	return shown
}

// sort puts the rows in the wanted order, and makes the heads of the columns.
func (v *podsView) sort(deploymentID string) {
	compare := podColumns[0].compare
	for _, column := range podColumns {
		head := podColumn{Name: column.name, Title: column.title, Number: column.number, Sorted: "none"}
		query := url.Values{sortParameter: {column.name}}
		if column.name == v.Order.Column {
			compare, head.Sorted = column.compare, "ascending"
			if v.Order.Descending {
				head.Sorted = "descending"
			} else {
				query.Set(descendingParameter, "1")
			}
		}
		head.Address = "/deployments/" + url.PathEscape(deploymentID) + "?" + query.Encode()
		v.Columns = append(v.Columns, head)
	}
	slices.SortStableFunc(v.Rows, func(a, b podRow) int {
		if v.Order.Descending {
			return compare(&b, &a)
		}
		return compare(&a, &b)
	})
}

// podSummary counts the pods by how they are.
func podSummary(rows []podRow) string {
	counts := map[tone]int{}
	for i := range rows {
		counts[rows[i].Tone]++
	}
	var parts []string
	for _, part := range []struct {
		tone tone
		word string
	}{{toneBad, "failing"}, {toneBusy, "starting"}, {toneGone, "terminating"}, {toneOK, "ready"}, {toneWait, "completed"}} {
		if counts[part.tone] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[part.tone], part.word))
		}
	}
	return strings.Join(parts, ", ")
}

func podRowOf(pod *server.PodStatus, now clock) podRow {
	row := podRow{
		Name: pod.Name, Namespace: pod.Namespace, Component: deref(pod.Component), Status: pod.Status, Tone: toneOfPod(pod),
		Message: deref(pod.Message), Ready: fmt.Sprintf("%d/%d", pod.ReadyContainers, pod.TotalContainers),
		Restarts: pod.Restarts, Node: deref(pod.Node), Created: now.moment(pod.CreatedAt),
	}
	for i := range pod.Containers {
		container := &pod.Containers[i]
		row.Containers = append(row.Containers, containerOf(container))
		if end := endOf(container, now); end != nil && (row.End == nil || compareEnds(row.End, end) < 0) {
			row.End = end
		}
	}
	return row
}

func containerOf(container *server.ContainerStatus) containerView {
	view := containerView{
		Name: container.Name, Tone: toneOfContainer(container), Image: deref(container.Image), Detail: deref(container.Message),
		State: strings.ToLower(string(container.State)),
	}
	if container.Kind != server.ContainerKindApp {
		view.Kind = strings.ToLower(string(container.Kind))
	}
	if container.State == server.ContainerStateRunning && !container.Ready {
		view.State = "not ready"
	}
	if reason := deref(container.Reason); reason != "" {
		view.State = reason
	}
	if container.ExitCode != nil && *container.ExitCode != 0 {
		view.State += fmt.Sprintf(", exit %d", *container.ExitCode)
	}
	return view
}

// endOf is the newest end of the container's runs, or nil.
func endOf(container *server.ContainerStatus, now clock) *endView {
	reason, code, at := deref(container.LastReason), container.LastExitCode, container.LastFinishedAt
	if container.State == server.ContainerStateTerminated {
		reason, code, at = deref(container.Reason), container.ExitCode, container.FinishedAt
	}
	if reason == "" && code == nil {
		return nil
	}
	if code != nil && *code != 0 {
		reason = strings.TrimSpace(fmt.Sprintf("%s (exit %d)", reason, *code))
	}
	return &endView{Container: container.Name, Reason: cmp.Or(reason, "Completed"), At: now.optional(at)}
}
