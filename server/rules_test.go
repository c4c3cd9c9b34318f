// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"
)

// noon is when the tests' stories begin, by the server's clock.
var noon = time.Date(2026, time.November, 29, 12, 0, 0, 0, time.UTC)

// at is so many seconds after noon.
func at(seconds float64) time.Time {
	return noon.Add(time.Duration(seconds * float64(time.Second)))
}

func atPtr(seconds float64) *time.Time {
	t := at(seconds)
	return &t
}

func ptr[T any](value T) *T { return &value }

// complete is the receipt of a complete report so many seconds after noon,
// from an agent whose clock is right.
func complete(seconds float64) Receipt {
	return Receipt{At: at(seconds), SentAt: at(seconds), Complete: true}
}

func noPods() []PodStatus { return nil }

// reported is an object as the operator of a settled cluster shows it.
func reported(instanceID, phase, displayState string) DeploymentStatus {
	return DeploymentStatus{
		ClusterID: "c", DeploymentID: "d", UID: "u", Namespace: "styrmin", Name: "prod-shop",
		InstanceID: instanceID, InstanceSource: InstanceSourceStatus,
		Generation: 1, ObservedGeneration: ptr(int64(1)),
		Phase: phase, DisplayState: displayState,
	}
}
