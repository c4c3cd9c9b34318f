// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// startOperator carries out what is written to the stage's StyrminDeployment at
// once, and reports that, until the test ends.
func (s *stage) startOperator(token string) {
	s.Helper()
	s.session = s.ask(token, `mutation ($u: String!) {
		openReportSession(input: {clusterUid: $u, agentId: "reporter", agentVersion: "test"}) { id } }`,
		map[string]any{"u": s.clusterID})["openReportSession"].(map[string]any)["id"].(string)
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			s.operate(ctx, token)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	s.Cleanup(func() { cancel(); <-done })
}

// operator has the operator do something else from now on.
func (s *stage) operator(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *stage) operate(ctx context.Context, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operatorHolds {
		return
	}
	list := &styrminv1.StyrminDeploymentList{}
	if err := s.cluster.List(ctx, list, client.InNamespace("styrmin")); err != nil {
		return
	}
	rows := []any{}
	for i := range list.Items {
		if object := &list.Items[i]; object.Spec.Environment == s.environment {
			rows = append(rows, s.report(object))
		}
	}
	s.sequence++
	now := time.Now().UTC().Format(time.RFC3339Nano)
	_, err := ask(ctx, token, `mutation ($r: ReportHeader!, $d: [DeploymentStatusInput!]) { reportDeploymentStatuses(report: $r, deployments: $d) { applied } }`,
		map[string]any{"r": map[string]any{"sessionId": s.session, "sequence": s.sequence, "observedAt": now, "sentAt": now}, "d": rows})
	if err != nil && ctx.Err() == nil {
		s.Errorf("reporting: %v", err)
	}
}

// report is what the reporter tells of an object that the operator is done with.
func (s *stage) report(object *styrminv1.StyrminDeployment) map[string]any {
	row := map[string]any{
		"uid": object.UID, "namespace": object.Namespace, "name": object.Name, "deploymentId": object.DeploymentID(),
		"instanceId": object.InstanceID(), "instanceSource": "STATUS", "generation": object.Generation, "observedGeneration": object.Generation,
		"targetNamespace": object.TargetNamespace(), "phase": "Ready", "displayState": "Running", "conditions": []any{},
	}
	switch {
	case object.DeletionTimestamp != nil:
		row["phase"], row["displayState"] = "Deleting", "Deleting"
		row["deletionRequestedAt"] = object.DeletionTimestamp.UTC().Format(time.RFC3339)
	case s.failure != "":
		row["phase"], row["displayState"], row["message"] = "Failed", "Error", s.failure
	}
	return row
}
