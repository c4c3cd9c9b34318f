// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	styrminv1 "github.com/styrmin/styrmin/api/v1alpha1"
)

// deploymentTable holds the rows of the newest snapshot and the digest that the
// server has acknowledged (P7).
type deploymentTable struct {
	rows         []DeploymentStatusInput
	digest       string
	acknowledged string
}

// update brings the table to exactly these deployments.
func (t *deploymentTable) update(deployments []*styrminv1.StyrminDeployment) error {
	rows := deploymentRows(deployments)
	rendered, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("rendering deployments: %w", err)
	}
	sum := sha256.Sum256(rendered)
	t.rows, t.digest = rows, shortDigest(sum[:])
	return nil
}

// report returns the rows to send: nil where the server has them.
func (t *deploymentTable) report() []DeploymentStatusInput {
	if t.digest == t.acknowledged {
		return nil
	}
	return t.rows
}

// acknowledge takes in that the server has the newest rows, unless it lacks some of
// them.
func (t *deploymentTable) acknowledge(lacks bool) {
	t.acknowledged = t.digest
	if lacks {
		t.forget()
	}
}

// forget makes the next report tell everything.
func (t *deploymentTable) forget() {
	t.acknowledged = ""
}
