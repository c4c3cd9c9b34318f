// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package reporter

import "slices"

// pullFailure is the last specific message of a container whose image cannot be
// pulled. The kubelet's reason alternates between ErrImagePull, which says why,
// and ImagePullBackOff, which says only that it waits.
type pullFailure struct {
	container, image, message string
}

// keepPullMessages gives containers in ImagePullBackOff the message with which
// the same container failed to pull the same image before, and returns what to
// remember for the pod's next row: nil for a pod whose images can be pulled.
// Reasons stay as the kubelet wrote them.
func keepPullMessages(row *PodStatusInput, remembered []pullFailure) []pullFailure {
	var failures []pullFailure
	for i := range row.Containers {
		container := &row.Containers[i]
		if container.State != ContainerStateWaiting || container.Reason == nil || container.Message == nil {
			continue
		}
		switch *container.Reason {
		case "ErrImagePull":
			failures = append(failures, pullFailure{container.Name, deref(container.Image), *container.Message})
		case "ImagePullBackOff":
			at := slices.IndexFunc(remembered, func(f pullFailure) bool {
				return f.container == container.Name && f.image == deref(container.Image)
			})
			if at < 0 {
				continue
			}
			failures = append(failures, remembered[at])
			if row.Message != nil && *row.Message == *container.Message {
				row.Message = &remembered[at].message
			}
			container.Message = &remembered[at].message
		}
	}
	return failures
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
