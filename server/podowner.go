// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"time"
)

// podOwner is what made a pod: a ReplicaSet, a StatefulSet, a Job, or nothing
// that is known.
type podOwner struct{ kind, name string }

func ownerOf(pod *PodStatus) podOwner {
	return podOwner{optionalText(pod.OwnerKind), optionalText(pod.OwnerName)}
}

// lineage groups owners that follow each other: the ReplicaSets of one
// Deployment share a component, or else a name up to its hash.
func lineage(pod *PodStatus) podOwner {
	owner := ownerOf(pod)
	if owner.kind != "ReplicaSet" {
		return owner
	}
	if pod.Component != nil {
		return podOwner{owner.kind, "component/" + *pod.Component}
	}
	if cut := strings.LastIndexByte(owner.name, '-'); cut > 0 {
		return podOwner{owner.kind, "name/" + owner.name[:cut]}
	}
	return owner
}

// newestOwners are the owners that carry the newest rollout: in each lineage
// the one whose first live pod is the youngest. The first pod, because an
// owner of an earlier rollout replaces lost pods until it is gone.
func newestOwners(pods []PodStatus) map[podOwner]bool {
	type member struct {
		owner podOwner
		first time.Time
	}
	owners := map[podOwner]*member{}
	newest := map[podOwner]*member{}
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionRequestedAt != nil || isFinished(pod) {
			continue
		}
		owner := ownerOf(pod)
		if known := owners[owner]; known == nil {
			owners[owner] = &member{owner, pod.CreatedAt}
		} else if pod.CreatedAt.Before(known.first) {
			known.first = pod.CreatedAt
		}
	}
	for i := range pods {
		line, candidate := lineage(&pods[i]), owners[ownerOf(&pods[i])]
		if candidate == nil {
			continue
		}
		best := newest[line]
		if best == nil || candidate.first.After(best.first) ||
			candidate.first.Equal(best.first) && candidate.owner.name > best.owner.name {
			newest[line] = candidate
		}
	}
	picked := map[podOwner]bool{}
	for _, member := range newest {
		picked[member.owner] = true
	}
	return picked
}
