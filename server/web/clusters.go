// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"time"

	"github.com/styrmin/styrmin/server"
)

// clustersView is the list of clusters with their agents.
type clustersView struct{ Rows []clusterRow }

type clusterRow struct {
	ID, Name    string
	UID         string
	State       string
	Tone        tone
	Agent       string
	Version     string
	Since       *moment
	Deployments int
	Pods        int
	// Before is the agent whose session this one superseded, where that is not
	// long ago.
	Before     string
	TakenOver  *moment
	Contenders int
}

// clustersLive is what changes with each report.
type clustersLive struct{ Clusters []clusterReport }

type clusterReport struct {
	ID      string
	At      *moment
	DataAge string
}

// sessionMemory is how long the page tells of superseded agents; contention is
// the number of takeovers in contentionTime from which two agents seem to fight.
const (
	sessionMemory  = 24 * time.Hour
	contentionTime = time.Hour
	contention     = 3
)

func (h *handler) clusters(r *http.Request, _ server.Token) (*answer, error) {
	now := clock{h.Now()}
	clusters, err := h.Store.Clusters(r.Context())
	if err != nil {
		return nil, err
	}
	sessions, err := h.Store.AgentSessions(r.Context(), now.now.Add(-sessionMemory))
	if err != nil {
		return nil, err
	}
	byCluster := map[string][]server.Session{}
	for _, session := range sessions {
		byCluster[session.ClusterID] = append(byCluster[session.ClusterID], session)
	}
	var content clustersView
	var live clustersLive
	for i := range clusters {
		cluster := &clusters[i]
		content.Rows = append(content.Rows, clusterRowOf(cluster, byCluster[cluster.ID], now, h.ReportTimeout))
		report := clusterReport{ID: cluster.ID, At: now.optional(cluster.LastReportAt)}
		if cluster.DataAgeSeconds != nil {
			report.DataAge = coarse(time.Duration(*cluster.DataAgeSeconds * float64(time.Second)))
		}
		live.Clusters = append(live.Clusters, report)
	}
	return &answer{page: "clusters", title: "Clusters", content: content, live: live}, nil
}

// clusterRowOf tells how a cluster's agent is; sessions are newest first.
func clusterRowOf(cluster *server.Cluster, sessions []server.Session, now clock, timeout time.Duration) clusterRow {
	row := clusterRow{
		ID: cluster.ID, Name: cluster.Name, UID: deref(cluster.UID), Agent: deref(cluster.AgentID), Version: deref(cluster.AgentVersion),
		Deployments: cluster.Deployments, Pods: cluster.Pods,
	}
	switch {
	case cluster.SessionID == nil:
		row.State, row.Tone = "NO AGENT YET", toneWait
	case now.olderThan(cluster.SilentSince(), timeout):
		row.State, row.Tone = "SILENT", toneWarn
	case cluster.LastReportAt == nil:
		row.State, row.Tone = "NO REPORT YET", toneBusy
	default:
		row.State, row.Tone = "REPORTING", toneOK
	}
	takeovers := 0
	for i := range sessions {
		session := &sessions[i]
		if session.ID == deref(cluster.SessionID) {
			row.Since = now.optional(&session.OpenedAt)
			continue
		}
		if row.Before == "" {
			row.Before, row.TakenOver = session.AgentID, row.Since
		}
		if now.now.Sub(session.OpenedAt) < contentionTime {
			takeovers++
		}
	}
	if takeovers >= contention {
		row.Contenders = takeovers
	}
	return row
}
