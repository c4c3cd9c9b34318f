// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of text in bytes (P6, R15). Longer text is cut on a character boundary.
const (
	// MaxNameBytes bounds names, ids, words and reasons.
	MaxNameBytes = 512
	// MaxMessageBytes bounds messages.
	MaxMessageBytes = 1024
)

// The times that both databases and RFC 3339 can hold.
var (
	minTime = time.Date(1, time.January, 2, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, time.December, 30, 0, 0, 0, 0, time.UTC)
)

// CleanText makes text that every database keeps (R15): valid UTF-8 without
// NUL, at most limit bytes, cut on a character boundary. A limit of zero or less
// cuts nothing.
func CleanText(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	if limit <= 0 || len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func cleanOptional(text *string, limit int) *string {
	if text == nil {
		return nil
	}
	clean := CleanText(*text, limit)
	return &clean
}

// cleanTime keeps a reported time within what can be stored: UTC, whole
// microseconds, years 1 to 9999.
func cleanTime(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	switch {
	case t.Before(minTime):
		return minTime
	case t.After(maxTime):
		return maxTime
	}
	return t
}

// cleanOptionalTime is cleanTime for times that may be absent. The zero time of
// a careless client counts as absent.
func cleanOptionalTime(t *time.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	clean := cleanTime(*t)
	return &clean
}

// CleanPod returns the pod as it is stored. The argument is not changed.
func CleanPod(pod PodStatus) PodStatus {
	pod.UID = CleanText(pod.UID, MaxNameBytes)
	pod.Namespace = CleanText(pod.Namespace, MaxNameBytes)
	pod.Name = CleanText(pod.Name, MaxNameBytes)
	pod.Node = cleanOptional(pod.Node, MaxNameBytes)
	pod.Phase = CleanText(pod.Phase, MaxNameBytes)
	pod.Status = CleanText(pod.Status, MaxNameBytes)
	pod.Message = cleanOptional(pod.Message, MaxMessageBytes)
	pod.OwnerKind = cleanOptional(pod.OwnerKind, MaxNameBytes)
	pod.OwnerName = cleanOptional(pod.OwnerName, MaxNameBytes)
	pod.Component = cleanOptional(pod.Component, MaxNameBytes)
	pod.CreatedAt = cleanTime(pod.CreatedAt)
	pod.StartedAt = cleanOptionalTime(pod.StartedAt)
	pod.DeletionRequestedAt = cleanOptionalTime(pod.DeletionRequestedAt)
	containers := make([]ContainerStatus, len(pod.Containers))
	for i, container := range pod.Containers {
		containers[i] = cleanContainer(container)
	}
	pod.Containers = containers
	return pod
}

func cleanContainer(c ContainerStatus) ContainerStatus {
	c.Name = CleanText(c.Name, MaxNameBytes)
	c.Image = cleanOptional(c.Image, MaxMessageBytes)
	c.Reason = cleanOptional(c.Reason, MaxNameBytes)
	c.Message = cleanOptional(c.Message, MaxMessageBytes)
	c.LastReason = cleanOptional(c.LastReason, MaxNameBytes)
	c.StartedAt = cleanOptionalTime(c.StartedAt)
	c.FinishedAt = cleanOptionalTime(c.FinishedAt)
	c.LastFinishedAt = cleanOptionalTime(c.LastFinishedAt)
	return c
}

// CleanDeploymentStatus returns the observed StyrminDeployment as it is stored.
// The argument is not changed.
func CleanDeploymentStatus(status DeploymentStatus) DeploymentStatus {
	status.UID = CleanText(status.UID, MaxNameBytes)
	status.DeploymentID = CleanText(status.DeploymentID, MaxNameBytes)
	status.Namespace = CleanText(status.Namespace, MaxNameBytes)
	status.Name = CleanText(status.Name, MaxNameBytes)
	status.InstanceID = CleanText(status.InstanceID, MaxNameBytes)
	status.TargetNamespace = cleanOptional(status.TargetNamespace, MaxNameBytes)
	status.Phase = CleanText(status.Phase, MaxNameBytes)
	status.DisplayState = CleanText(status.DisplayState, MaxNameBytes)
	status.Message = cleanOptional(status.Message, MaxMessageBytes)
	status.DeletionRequestedAt = cleanOptionalTime(status.DeletionRequestedAt)

	conditions := make([]Condition, len(status.Conditions))
	for i, c := range status.Conditions {
		c.Type = CleanText(c.Type, MaxNameBytes)
		c.Status = CleanText(c.Status, MaxNameBytes)
		c.Reason = cleanOptional(c.Reason, MaxNameBytes)
		c.Message = cleanOptional(c.Message, MaxMessageBytes)
		c.LastTransitionTime = cleanTime(c.LastTransitionTime)
		conditions[i] = c
	}
	status.Conditions = conditions

	components := make([]ComponentStatus, len(status.Components))
	for i, c := range status.Components {
		c.Name = CleanText(c.Name, MaxNameBytes)
		c.State = CleanText(c.State, MaxNameBytes)
		components[i] = c
	}
	status.Components = components
	return status
}
