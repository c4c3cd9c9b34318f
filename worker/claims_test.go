// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/Khan/genqlient/graphql"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestW3ATokenThatIsRefusedMayBeMended: that says nothing of a task, and the file is
// read again.
func TestW3ATokenThatIsRefusedMayBeMended(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	token, err := os.ReadFile(s.tokenFile)
	if err != nil {
		t.Fatal(err)
	}
	s.tokenFile = filepath.Join(t.TempDir(), "rotated")
	if err := os.WriteFile(s.tokenFile, []byte("styrmin_revoked"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := s.startWorker()
	task := s.create(shopSpec("2.4.0"))
	s.eventually("the worker has been refused", func() error {
		if len(h.made()) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	if view := s.task(task); view.Status != "PENDING" {
		t.Errorf("the task is %s", view.Status)
	}
	if err := os.WriteFile(s.tokenFile, token, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wantResult(task, "SUCCEEDED", "")
	s.wantRuns(h, task, false) // It is counted before it ends.
	if got := testutil.ToFloat64(h.metrics.tasks.WithLabelValues("CREATE", "ended")); got != 1 {
		t.Errorf("%v flows are counted, want 1", got)
	}
}

func TestTheClusterIsThatOfTheToken(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.startWorker(func(_ *hands, o *Options) { o.PollInterval = within })
	// It has no deployments yet; how many there are makes no difference.
	if ids, err := h.server.visibleClusters(t.Context()); err != nil || len(ids) != 1 || ids[0] != s.clusterID {
		t.Errorf("clusters %v, %v, want %s", ids, err, s.clusterID)
	}

	// An admin's token is for all of them.
	newStage(t)
	s.tokenFile = filepath.Join(t.TempDir(), "admin")
	if err := os.WriteFile(s.tokenFile, []byte(suite.server.adminToken), 0o600); err != nil {
		t.Fatal(err)
	}
	h = s.startWorker(func(_ *hands, o *Options) { o.PollInterval = within })
	h.stop()
	if _, err := h.clusterID(t.Context()); !errors.Is(err, errAmbiguous) {
		t.Errorf("error %v, want %v", err, errAmbiguous)
	}
	h = s.startWorker(func(_ *hands, o *Options) { o.PollInterval, o.ClusterID = within, s.clusterID })
	if id, err := h.clusterID(t.Context()); err != nil || id != s.clusterID {
		t.Errorf("cluster %s, %v, want %s", id, err, s.clusterID)
	}
}

// answersEmpty is something in the server's place that knows no contract.
type answersEmpty struct{}

func (answersEmpty) MakeRequest(context.Context, *graphql.Request, *graphql.Response) error {
	return nil
}

// TestNoClusterAtAllIsAnError: a worker that silently claimed nothing would look like
// one that has nothing to do.
func TestNoClusterAtAllIsAnError(t *testing.T) {
	w := &worker{server: &server{client: answersEmpty{}}}
	if _, err := w.claimOne(t.Context(), nil); !errors.Is(err, errNoCluster) {
		t.Errorf("error %v, want %v", err, errNoCluster)
	}
}
