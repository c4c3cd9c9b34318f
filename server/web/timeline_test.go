// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/styrmin/styrmin/server"
)

func TestATaskIsShownWithItsSteps(t *testing.T) {
	s := newStage(t)
	scene := newScene(s)
	id := scene.failedUpgrade("checkout")
	view, err := s.store.DeploymentView(t.Context(), id, 0, 10)
	s.must(err)
	var upgrade, hook string
	for i := range view.Tasks {
		switch view.Tasks[i].Kind() {
		case server.TaskUpdateVersion:
			upgrade = view.Tasks[i].ID
		case server.TaskStopComponents:
			hook = view.Tasks[i].ID
		}
	}
	got := s.get(server.RoleViewer, "/tasks/"+upgrade)
	s.wantText(got, "Upgrade to 2.5.0", "FAILED", "step &#34;Install or upgrade the HelmRelease&#34; failed", "attempt 2", "1 earlier attempt",
		"Pre-upgrade hook: stop server", `<a href="/tasks/`+hook+`">Stop server</a>`, "CANCELLED", "34 s")
	got = s.get(server.RoleViewer, "/tasks/"+hook)
	s.wantText(got, "Stop server", "SUCCEEDED", `<a href="/tasks/`+upgrade+`">Upgrade to 2.5.0</a>`, "took 21 s")
}

func TestATaskThatIsSupersededSaysSo(t *testing.T) {
	s := newStage(t)
	id, _ := s.runShop()
	scale := func(n int) string {
		task := s.request(id, server.Change{Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "server", Replicas: n}}})
		s.claim(task.ID)
		s.write(task.ID)
		s.end(task.ID)
		return task.ID
	}
	first := scale(4)
	scale(5)
	s.wantText(s.get(server.RoleViewer, "/tasks/"+first), "SUPERSEDED", "was superseded by a later task of the deployment", "CANCELLED")
}

func TestTitlesSayWhatATaskDoes(t *testing.T) {
	for want, change := range map[string]server.Change{
		"Create":                {Kind: server.TaskCreate},
		"Update":                {Kind: server.TaskUpdate},
		"Scale a to 1, b to 0":  {Kind: server.TaskScale, Replicas: []server.ComponentReplicas{{Component: "a", Replicas: 1}, {Component: "b"}}},
		"Upgrade to 2":          {Kind: server.TaskUpdateVersion, Version: "2"},
		"Delete":                {Kind: server.TaskDelete},
		"Start a, b":            {Kind: server.TaskStartComponents, Components: []string{"a", "b"}},
		"Stop a":                {Kind: server.TaskStopComponents, Components: []string{"a"}},
		"Run job migrate":       {Kind: server.TaskRunJob, Job: "migrate"},
		"SOMETHING_OF_TOMORROW": {Kind: "SOMETHING_OF_TOMORROW"},
	} {
		if got := titleOf(change); got != want {
			t.Errorf("%s is titled %q", want, got)
		}
	}
}

func TestAgesAndLengthsAreWrittenInWords(t *testing.T) {
	for _, tt := range []struct {
		length       time.Duration
		coarse, fine string
	}{
		{-time.Second, "0 s", "0 s"},
		{59 * time.Second, "59 s", "59 s"},
		{60 * time.Second, "1 min", "1 min 0 s"},
		{59*time.Minute + 59*time.Second, "59 min", "59 min 59 s"},
		{time.Hour, "1 h", "1 h 0 min"},
		{47 * time.Hour, "47 h", "47 h 0 min"},
		{48 * time.Hour, "2 d", "48 h 0 min"},
	} {
		if diff := cmp.Diff([]string{tt.coarse, tt.fine}, []string{coarse(tt.length), fine(tt.length)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.length, diff)
		}
	}
}
