// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/styrmin/styrmin/server"
)

// overviewView is the list of deployments.
type overviewView struct {
	Filter filter
	Rows   []overviewRow
	// Environments are those to choose from.
	Environments []string
	Total        int
	NoClusters   bool
}

type statusCount struct {
	Status server.DeploymentStatusName
	Tone   tone
	Count  int
	// Address shows these alone.
	Address string
	Chosen  bool
}

// overviewRow is one deployment.
type overviewRow struct {
	ID, Name    string
	Environment string
	Cluster     string
	Version     string
	Internal    bool
	Status      server.DeploymentStatusName
	Tone        tone
	Message     string
	Since       time.Time
	Ready       int
	Wanted      int
	// Bar is the tone of the pods: that of the deployment, but for one that should
	// have them all.
	Bar tone
	// Silent: the state is the last known one.
	Silent bool
	// Report is the key of the cluster whose newest report held the deployment;
	// its time comes with every reload.
	Report string
	// LastReport is that of a deployment which the newest report did not hold.
	LastReport *time.Time

	// What is shown of the times, which is no part of the digest. They are texts
	// because a template calls a method for each of a thousand rows dearly.
	SinceISO, SinceAge, ReportISO, ReportAge string `json:"-"`
}

// overviewLive is how things are as a whole, and when each cluster last reported.
type overviewLive struct {
	// Headline says in a sentence how things are.
	Headline string
	Tone     tone
	// Counts are those of all deployments that the words and the environment
	// pick, by status.
	Counts   []statusCount
	Clusters []clusterAge
}

// Silent are the clusters of which the last known state is shown.
func (l overviewLive) Silent() []clusterAge {
	return slices.DeleteFunc(slices.Clone(l.Clusters), func(cluster clusterAge) bool { return !cluster.Silent })
}

type clusterAge struct {
	Key, Name string
	At        *moment
	Silent    bool
}

func (h *handler) overview(r *http.Request, _ server.Token) (*answer, error) {
	wanted := filterOf(r.URL.Query())
	clusters, err := h.Store.Clusters(r.Context())
	if err != nil {
		return nil, err
	}
	summaries, err := h.Store.DeploymentSummaries(r.Context(), wanted.Status == server.DeploymentDeleted)
	if err != nil {
		return nil, err
	}
	list := lister{clock: clock{h.Now()}, timeout: h.ReportTimeout, clusters: clusters}
	content, live := list.overview(wanted, summaries)
	return &answer{page: "overview", title: live.Headline, content: content, live: live}, nil
}

// lister decides what the overview shows.
type lister struct {
	clock    clock
	timeout  time.Duration
	clusters []server.Cluster
}

func (l lister) overview(wanted filter, summaries []server.DeploymentSummary) (overviewView, overviewLive) {
	names, newest := map[string]string{}, newestReports(summaries)
	live := overviewLive{}
	view := overviewView{Filter: wanted, Total: len(summaries), NoClusters: len(l.clusters) == 0}
	for _, cluster := range l.clusters {
		names[cluster.ID] = cluster.Name
		age := clusterAge{Key: cluster.Name, Name: cluster.Name, Silent: l.clock.olderThan(cluster.SilentSince(), l.timeout)}
		age.At = l.clock.optional(cluster.LastReportAt)
		switch at, reported := newest[cluster.ID]; {
		case reported && cluster.LastReportAt != nil && at.Before(*cluster.LastReportAt):
			// None of those listed was in the newest report.
			delete(newest, cluster.ID)
		case reported && !age.Silent:
			age.At = l.clock.optional(&at)
		}
		live.Clusters = append(live.Clusters, age)
	}
	counts := map[server.DeploymentStatusName]int{}
	environments := map[string]bool{}
	for i := range summaries {
		environments[deref(summaries[i].Environment)] = true
		row := l.row(&summaries[i], names, newest)
		if !wanted.picks(&row) {
			continue
		}
		counts[row.Status]++
		if wanted.Status == "" || wanted.Status == row.Status {
			view.Rows = append(view.Rows, row)
		}
	}
	slices.SortStableFunc(view.Rows, byProblem)
	delete(environments, "")
	for environment := range environments {
		view.Environments = append(view.Environments, environment)
	}
	slices.Sort(view.Environments)
	live.Counts = countsOf(wanted, counts)
	live.Headline, live.Tone = headline(wanted, counts, len(live.Silent()))
	return view, live
}

// newestReports finds by cluster when the newest report of deployments came.
func newestReports(summaries []server.DeploymentSummary) map[string]time.Time {
	newest := map[string]time.Time{}
	for i := range summaries {
		if at := summaries[i].LastReportAt; at != nil && at.After(newest[summaries[i].ClusterID]) {
			newest[summaries[i].ClusterID] = *at
		}
	}
	return newest
}

func (l lister) row(summary *server.DeploymentSummary, names map[string]string, newest map[string]time.Time) overviewRow {
	since := l.clock.moment(summary.StatusSince)
	row := overviewRow{
		ID: summary.ID, Name: summary.Name, Environment: deref(summary.Environment), Cluster: names[summary.ClusterID],
		Version: deref(summary.Version), Internal: summary.Internal, Status: summary.Status,
		Tone: toneOfDeployment(summary.Status), Since: since.At, SinceISO: since.ISO(), SinceAge: since.Age(),
		Ready: summary.ReadyPods, Wanted: max(summary.DesiredPods, summary.LivePods),
	}
	if row.Bar = row.Tone; row.Tone == toneOK && row.Ready < row.Wanted {
		row.Bar = toneWarn
	}
	if summary.Status != server.DeploymentRunning {
		row.Message = clip(deref(summary.StatusMessage), maxRowMessage)
	}
	row.Silent = isSilent(&summary.Deployment, l.clock, l.timeout)
	if at := summary.LastReportAt; at != nil {
		reported := l.clock.moment(*at)
		row.ReportISO, row.ReportAge = reported.ISO(), reported.Age()
		if at.Equal(newest[summary.ClusterID]) {
			row.Report = row.Cluster
		} else {
			row.LastReport = at
		}
	}
	return row
}

// isSilent tells whether the deployment's state is the last known one: no report
// about it has come for too long.
func isSilent(deployment *server.Deployment, now clock, timeout time.Duration) bool {
	return deployment.Status != server.DeploymentDeleted && !deployment.Missing &&
		now.olderThan(deployment.LastReportAt, timeout)
}

// maxRowMessage bounds a message of the list, in characters; the deployment's own
// page shows all of it.
const maxRowMessage = 200

// clip shortens a text at a word's end, to at most so many characters.
func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	cut := string(runes[:most])
	if space := strings.LastIndexByte(cut, ' '); space > most/2 {
		cut = cut[:space]
	}
	return cut + "…"
}

// ranks order the statuses by how much they need someone.
var ranks = map[server.DeploymentStatusName]int{
	server.DeploymentFailed: 0, server.DeploymentDeploying: 3, server.DeploymentDeleting: 4,
	server.DeploymentPending: 5, server.DeploymentRunning: 6, server.DeploymentDeleted: 7,
}

func (r *overviewRow) rank() int {
	rank := ranks[r.Status]
	switch {
	case rank == 0:
		return 0
	case r.Silent:
		return 1
	case r.Bar == toneWarn:
		return 2
	}
	return rank
}

// byProblem puts problems first, the newest of the failures before all; the rest
// by name.
func byProblem(a, b overviewRow) int {
	if order := cmp.Compare(a.rank(), b.rank()); order != 0 {
		return order
	}
	if a.Status == server.DeploymentFailed {
		if order := b.Since.Compare(a.Since); order != 0 {
			return order
		}
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.ID, b.ID))
}
