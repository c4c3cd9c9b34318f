// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package helmcontroller

import (
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// A chart's event that says nothing new would start a reconciliation that nothing calls for: readers of the HelmRelease
// would see an action begin once more than a real Flux shows.
func TestAReleaseIsReconciledForAChartsNewArtifactAlone(t *testing.T) {
	t.Parallel()
	none, first, second := chartOffering(""), chartOffering("0.1.0"), chartOffering("0.2.0")
	updates := map[string]struct {
		before, after *sourcev1.HelmChart
		want          bool
	}{
		"no artifact yet": {none, none, false},
		"the first":       {none, first, true},
		"the same":        {first, first, false},
		"another":         {first, second, true},
		"none any more":   {first, none, false},
	}
	for name, test := range updates {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (revisionChanged{}).Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
				t.Errorf("update: got %t, want %t", got, test.want)
			}
		})
	}
	if (revisionChanged{}).Create(event.CreateEvent{Object: none}) {
		t.Error("a chart that was just made, and offers nothing yet, started a reconciliation")
	}
	if !(revisionChanged{}).Create(event.CreateEvent{Object: first}) {
		t.Error("a chart that was there when the controller started did not start a reconciliation")
	}
}

func chartOffering(revision string) *sourcev1.HelmChart {
	chart := &sourcev1.HelmChart{}
	if revision != "" {
		chart.Status.Artifact = &fluxmeta.Artifact{Revision: revision}
	}
	return chart
}
