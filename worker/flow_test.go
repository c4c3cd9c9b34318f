// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestW1AnApplicationIsCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	task := s.create(shopSpec("2.4.0"))
	s.startWorker()
	s.wantResult(task, "SUCCEEDED", "")
	s.wantStatus("RUNNING")
	object := s.object()
	if object == nil || object.Spec.DeploymentID != s.deployment || object.Spec.InstanceID == "" || object.Spec.Version != "2.4.0" {
		t.Errorf("the written object is %+v", object)
	}
	managers := make([]string, 0, 1)
	for _, entry := range object.ManagedFields {
		managers = append(managers, entry.Manager+" "+string(entry.Operation))
	}
	if diff := cmp.Diff([]string{"styrmin-worker Apply"}, managers); diff != "" {
		t.Errorf("field managers (-want +got):\n%s", diff)
	}

	deletion := s.change("deleteDeployment(id: $d)")
	s.wantResult(deletion, "SUCCEEDED", "")
	s.wantStatus("DELETED")
	if object := s.object(); object != nil {
		t.Errorf("the object is still there: %+v", object)
	}
}
