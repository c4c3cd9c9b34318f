// Copyright 2026 The Styrmin Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Phase is how far the operator has come with the newest spec. The order of
// the first four is the order of its work.
type Phase string

const (
	// PhaseCreatingPrerequisites: namespace, network policies, secrets and the
	// chart source are being made.
	PhaseCreatingPrerequisites Phase = "CreatingPrerequisites"
	// PhaseCreatingHelmRelease: Flux installs or upgrades the release.
	PhaseCreatingHelmRelease Phase = "CreatingHelmRelease"
	// PhaseCreatingServices: Services, Middlewares and IngressRoutes are being
	// made; with ServicesReady=True the operator waits for the workloads.
	PhaseCreatingServices Phase = "CreatingServices"
	// PhaseReady: everything that the spec declares is there and serves.
	PhaseReady Phase = "Ready"
	// PhaseFailed: this spec does not get there without a change, or a retry
	// that succeeds; the operator keeps watching and leaves the phase then.
	PhaseFailed Phase = "Failed"
	// PhaseDeleting: a deletion was requested and is being carried out.
	PhaseDeleting Phase = "Deleting"
	// PhaseDeleted: nothing of the deployment is left but this object.
	PhaseDeleted Phase = "Deleted"
)

// DisplayState is the one word that people read.
type DisplayState string

const (
	// DisplayStateDeploying: not yet as declared, and nothing is known to be wrong.
	DisplayStateDeploying DisplayState = "Deploying"
	// DisplayStateRunning: as declared, and has been for the settle time.
	DisplayStateRunning DisplayState = "Running"
	// DisplayStateError: a pod or a workload shows a failure, or the phase is Failed.
	DisplayStateError DisplayState = "Error"
	// DisplayStateDeleting: a deletion was requested.
	DisplayStateDeleting DisplayState = "Deleting"
	// DisplayStateDeleted: nothing is left.
	DisplayStateDeleted DisplayState = "Deleted"
)

// Condition types of a StyrminDeployment. All four are set by the first write
// for a new spec and turn True the moment their part is done.
const (
	// ConditionPrerequisitesReady: namespace, network policies, secrets and
	// chart source exist as the spec says.
	ConditionPrerequisitesReady = "PrerequisitesReady"
	// ConditionHelmReleaseReady: the release is installed for this very spec.
	ConditionHelmReleaseReady = "HelmReleaseReady"
	// ConditionServicesReady: Services, Middlewares and IngressRoutes exist as
	// the spec says.
	ConditionServicesReady = "ServicesReady"
	// ConditionReady: all of the above, and every component is as declared.
	// kubectl wait --for=condition=Ready and kstatus read it.
	ConditionReady = "Ready"
)

// Reasons of the conditions.
const (
	// ReasonPending: the part's turn has not come.
	ReasonPending = "Pending"
	// ReasonProgressing: the operator or Flux works on it; the message says what
	// is waited for.
	ReasonProgressing = "Progressing"
	// ReasonSucceeded: done.
	ReasonSucceeded = "Succeeded"
	// ReasonSettling: as declared, but not yet for the settle time.
	ReasonSettling = "Settling"
	// ReasonSuspended: the HelmRelease was suspended by someone; nothing moves
	// until it is resumed.
	ReasonSuspended = "Suspended"
	// ReasonConflict: an object of the needed name exists and is not ours; it is
	// left untouched.
	ReasonConflict = "Conflict"
	// ReasonInvalidSpec: the spec asks for what the cluster cannot give, such as
	// a secret to copy that does not exist.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonForbidden: the API server refuses what the spec asks for, by a quota,
	// an admission policy or the operator's own role.
	ReasonForbidden = "Forbidden"
	// ReasonMissingAPI: an API that this spec needs (Flux, Traefik) is not
	// served by the cluster.
	ReasonMissingAPI = "MissingAPI"
	// ReasonOutdatedCRD: the installed CustomResourceDefinition is older than the
	// operator; nothing is done until the one of its version is applied.
	ReasonOutdatedCRD = "OutdatedCRD"
	// ReasonHelmFailed: Flux tried and failed; the message is Helm's.
	ReasonHelmFailed = "HelmFailed"
	// ReasonSourceNotReady: Flux cannot begin, since the chart, its repository, a
	// dependency or the values are not there; a failure once it lasts.
	ReasonSourceNotReady = "SourceNotReady"
	// ReasonTimedOut: no progress for longer than the timeout allows.
	ReasonTimedOut = "TimedOut"
	// ReasonPodsFailing: a pod shows a failure for longer than the grace.
	ReasonPodsFailing = "PodsFailing"
	// ReasonDeleting: a deletion was requested.
	ReasonDeleting = "Deleting"
	// ReasonDeleted: the condition's part has been removed.
	ReasonDeleted = "Deleted"
	// ReasonDeletionBlocked: something that is not ours to remove holds the
	// deletion up; the message names it.
	ReasonDeletionBlocked = "DeletionBlocked"
)

// ComponentState is a component's state as observed.
type ComponentState string

const (
	// ComponentRunning: all declared replicas are ready.
	ComponentRunning ComponentState = "Running"
	// ComponentStopped: declared stopped, and no pod is left.
	ComponentStopped ComponentState = "Stopped"
	// ComponentProgressing: on the way to what is declared.
	ComponentProgressing ComponentState = "Progressing"
	// ComponentError: a pod or workload of it shows a failure.
	ComponentError ComponentState = "Error"
)

// Labels, annotations and names that the operator puts on what it makes.
const (
	// FieldOwner is the field manager of every write of the operator.
	FieldOwner = "styrmin-operator"
	// Finalizer keeps a StyrminDeployment until everything made for it is gone.
	Finalizer = "styrmin.io/finalizer"
	// LabelDeploymentID marks every object that the operator made, with the id
	// of the deployment it made it for. Nothing without it is ever changed.
	LabelDeploymentID = "styrmin.io/deployment-id"
	// AnnotationOwner names the StyrminDeployment, as <namespace>/<name>, on
	// every object that the operator made for it.
	AnnotationOwner = "styrmin.io/owner"
	// AnnotationRollout is the rollout, as <instance>/<generation>, that a
	// HelmRelease was last written for.
	AnnotationRollout = "styrmin.io/rollout"
	// AnnotationInstanceID is the instance whose spec an object was last
	// written for.
	AnnotationInstanceID = "styrmin.io/instance-id"
)
