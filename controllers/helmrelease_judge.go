// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// releaseState is what a HelmRelease's status says about its present spec.
type releaseState string

const (
	// releaseDeleting: someone deleted it, and Flux uninstalls.
	releaseDeleting releaseState = "Deleting"
	// releaseDeletionFailed: Flux cannot uninstall; it goes on trying.
	releaseDeletionFailed releaseState = "DeletionFailed"
	// releaseSuspended: Flux leaves it alone, and its conditions say nothing.
	releaseSuspended releaseState = "Suspended"
	// releaseInstalled: this very spec is installed.
	releaseInstalled releaseState = "Installed"
	// releaseFailed: Flux has given up on this spec.
	releaseFailed releaseState = "Failed"
	// releaseFailing: the last try failed; Flux tries again.
	releaseFailing releaseState = "Failing"
	// releaseWaiting: Flux cannot try, something that it needs is not there.
	releaseWaiting releaseState = "Waiting"
	// releaseInProgress: none of these, or no longer true for this spec.
	releaseInProgress releaseState = "InProgress"
)

// helmDeployed is Helm's word for a release version that is in place.
const helmDeployed = "deployed"

// retriesExceeded is Flux's reason of Stalled when no retry is left.
const retriesExceeded = "RetriesExceeded"

// waitingReasons are Flux's reasons of Ready=False before a Helm action.
var waitingReasons = []string{
	"SourceNotReady", "ValuesError", "ChartMutateError", "RESTClientError", "FactoryError",
	helmv2.ArtifactFailedReason, helmv2.DependencyNotReadyReason,
}

// releaseVerdict is what one look at a HelmRelease says.
type releaseVerdict struct {
	state releaseState
	// message is Flux's, for people.
	message string
	// attempted says that Flux has begun to act on the present generation, so
	// that an earlier verdict on it still stands while it works (E02, O5).
	attempted bool
	// asked says that the operator asked Flux to try again and Flux has not
	// ended that try: what the status says is from before (E04).
	asked bool
}

// judgeHelmRelease decides what a HelmRelease's status says about its spec, by
// the first row that matches of the rule that was found on recordings (O3). It
// trusts neither Ready's generation alone, which Flux stamps on the result of
// an older spec, nor observedGeneration alone, which moves under suspension.
func judgeHelmRelease(hr *helmv2.HelmRelease) releaseVerdict {
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, fluxmeta.ReadyCondition)
	released := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ReleasedCondition)
	stalled := apimeta.FindStatusCondition(hr.Status.Conditions, fluxmeta.StalledCondition)
	v := releaseVerdict{
		state:     releaseInProgress,
		message:   progressMessage(hr, ready),
		attempted: hr.Status.LastAttemptedGeneration == hr.Generation,
		asked:     isAskedToRetry(hr),
	}
	observed := hr.Status.ObservedGeneration == hr.Generation
	failedAction := v.attempted && is(released, metav1.ConditionFalse, hr.Generation)
	switch {
	case !hr.DeletionTimestamp.IsZero():
		v.state = releaseDeleting
		if is(ready, metav1.ConditionFalse, hr.Generation) && ready.Reason == helmv2.UninstallFailedReason {
			v.state, v.message = releaseDeletionFailed, ready.Message
		}
	case hr.Spec.Suspend:
		v.state, v.message = releaseSuspended, "the HelmRelease is suspended; resume it to go on"
	case v.asked:
		// Whatever is there is the result of the try before.
	case is(ready, metav1.ConditionTrue, hr.Generation) && observed && v.attempted && isDeployed(hr):
		v.state, v.message = releaseInstalled, ready.Message
	case is(stalled, metav1.ConditionTrue, hr.Generation) && observed:
		v.state = releaseFailed
		v.message = failureMessage(hr, ready, released, failedAction)
	case failedAction && isHelmFailure(released) && (hr.Status.Failures > 0 || is(ready, metav1.ConditionFalse, hr.Generation)):
		// While a new generation's first try runs, Released may still be the
		// failure of the one before, stamped with this generation; Flux resets
		// the count of failures then.
		v.state = releaseFailing
		v.message = failureMessage(hr, ready, released, failedAction)
	case is(ready, metav1.ConditionFalse, hr.Generation) && slices.Contains(waitingReasons, ready.Reason):
		v.state, v.message = releaseWaiting, ready.Message
	}
	return v
}

// progressMessage says what a release in progress waits for. Ready's message is
// of the present spec only while it is Unknown; else it is the last result.
func progressMessage(hr *helmv2.HelmRelease, ready *metav1.Condition) string {
	switch {
	case is(ready, metav1.ConditionUnknown, hr.Generation):
		return ready.Message
	case hr.Status.LastAttemptedGeneration != hr.Generation:
		return "waiting until Flux begins with this spec"
	case isAskedToRetry(hr):
		return "waiting until Flux has tried again"
	default:
		return "waiting until Flux has ended its work on this spec: " + messageOf(ready, "it reports nothing")
	}
}

// is tells whether a condition has a status at a generation.
func is(c *metav1.Condition, status metav1.ConditionStatus, generation int64) bool {
	return c != nil && c.Status == status && c.ObservedGeneration == generation
}

func isHelmFailure(released *metav1.Condition) bool {
	return released.Reason == helmv2.InstallFailedReason || released.Reason == helmv2.UpgradeFailedReason
}

// isDeployed tells whether the newest release version is the one in place.
func isDeployed(hr *helmv2.HelmRelease) bool {
	latest := latestRelease(hr)
	return latest != nil && latest.Status == helmDeployed
}

// latestRelease returns the newest release version in the history. Flux's own
// method for it sorts the history in place, which may be a cache's.
func latestRelease(hr *helmv2.HelmRelease) *helmv2.Snapshot {
	var latest *helmv2.Snapshot
	for _, snapshot := range hr.Status.History {
		if latest == nil || snapshot.Version > latest.Version {
			latest = snapshot
		}
	}
	return latest
}

// isAskedToRetry tells whether a request to start over is not handled yet. Flux
// notes the reset when it begins, and the reconcile request, which has the same
// value, when it ends. Once the request is another one, which is left to be where
// the operator's try has ended, only the reset tells.
func isAskedToRetry(hr *helmv2.HelmRelease) bool {
	reset := hr.Annotations[helmv2.ResetRequestAnnotation]
	if reset == "" {
		return false
	}
	isOwn := hr.Annotations[fluxmeta.ReconcileRequestAnnotation] == reset
	return hr.Status.LastHandledResetAt != reset || (isOwn && hr.Status.LastHandledReconcileAt != reset)
}

// failureMessage is Helm's own error, which Released holds: Ready may say that
// the rollback succeeded, and Stalled only counts (E03).
func failureMessage(hr *helmv2.HelmRelease, ready, released *metav1.Condition, failedAction bool) string {
	parts := []string{messageOf(ready, "Flux gave up without a message")}
	if failedAction {
		parts[0] = messageOf(released, parts[0])
	}
	remediated := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.RemediatedCondition)
	if is(remediated, metav1.ConditionTrue, hr.Generation) {
		parts = append(parts, remediated.Message)
	}
	stalled := apimeta.FindStatusCondition(hr.Status.Conditions, fluxmeta.StalledCondition)
	if is(stalled, metav1.ConditionTrue, hr.Generation) && stalled.Reason == retriesExceeded {
		parts = append(parts, "no retries are left")
	}
	return strings.Join(parts, "; ")
}

func messageOf(c *metav1.Condition, otherwise string) string {
	if c == nil || c.Message == "" {
		return otherwise
	}
	return c.Message
}
